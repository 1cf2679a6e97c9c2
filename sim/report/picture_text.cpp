#include "report/picture_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "base/text.h"
#include "report/palette.h"
#include "report/reports.h"
#include "report/time_axis.h"

namespace shardsim {

namespace {

constexpr std::size_t kMostName = 24;  // characters of a row's name
constexpr std::size_t kMostTitle = 100;
constexpr int kFewestColumns = 20;  // of a picture
constexpr int kRoomOfTick = 14;
constexpr double kIdle = 0.1;    // a column of thin boxes that are busy for less is idle
constexpr double kNoise = 1e-6;  // columns
constexpr int kNoInk = -1;

struct Glyph {
  char letter = 0;  // 0: idle
  int ink = kNoInk;
};

// A half goes up, whatever sums of times have made of it.
int rounded(double column) {
  return static_cast<int>(std::floor(column + 0.5 + kNoise));
}

// Letters of a cell and, where `numbers`, what is written behind them.
std::vector<Glyph> text_of(const Picture& picture, std::span<const PictureBox> parts,
                           bool numbers) {
  std::vector<Glyph> text;
  for (const PictureBox& part : parts) {
    text.push_back({picture.inks[part.ink].letter, static_cast<int>(part.ink)});
    if (!numbers) continue;
    for (const char digit : picture.labels[part.label].text)
      text.push_back({digit, static_cast<int>(part.ink)});
  }
  return text;
}

// Columns that one box fills, or two that run together, one behind the other.
void write_cell(const Picture& picture, std::span<const PictureBox> parts, int begin, int end,
                bool numbered, std::vector<Glyph>& line) {
  std::vector<Glyph> text = text_of(picture, parts, numbered);
  if (static_cast<int>(text.size()) > end - begin) text = text_of(picture, parts, false);
  const Glyph rest{numbered ? ' ' : text.back().letter, text.back().ink};
  for (int at = std::max(begin, 0); at < std::min(end, static_cast<int>(line.size())); ++at) {
    const auto place = static_cast<std::size_t>(at - begin);
    line[static_cast<std::size_t>(at)] = place < text.size() ? text[place] : rest;
  }
}

// Boxes shorter than a column: the ink that most of the column's time has.
class ThinBoxes {
 public:
  void add(int column, std::uint32_t ink, double share) { shares_[{column, ink}] += share; }

  void write(const Picture& picture, std::vector<Glyph>& line) const {
    for (auto at = shares_.begin(); at != shares_.end();) {
      const int column = at->first.first;
      auto most = at;
      double busy = 0;
      for (; at != shares_.end() && at->first.first == column; ++at) {
        busy += at->second;
        if (at->second > most->second) most = at;
      }
      Glyph& glyph = line[static_cast<std::size_t>(column)];
      if (glyph.letter != 0 || busy < kIdle) continue;
      const std::uint32_t ink = most->first.second;
      glyph = {picture.inks[ink].letter, static_cast<int>(ink)};
    }
  }

 private:
  std::map<std::pair<int, std::uint32_t>, double> shares_;
};

std::vector<Glyph> glyphs_of(const Picture& picture, const PictureRow& row,
                             const TextWindow& window) {
  std::vector<Glyph> line(static_cast<std::size_t>(window.columns));
  ThinBoxes thin;
  auto frame = row.frames.begin();
  for (std::size_t i = 0; i < row.boxes.size(); ++i) {
    std::span<const PictureBox> parts(&row.boxes[i], 1);
    while (frame != row.frames.end() && frame->begin < parts.front().begin) ++frame;
    const bool framed = frame != row.frames.end() && frame->begin == parts.front().begin;
    if (window.numbered && framed) parts = {&row.boxes[i++], 2};
    const double begin = parts.front().begin / window.column - window.from;
    const double end = parts.back().end / window.column - window.from;
    if (end < 0 || begin >= window.columns) continue;
    if (end - begin > 1 - kNoise) {
      write_cell(picture, parts, rounded(begin), rounded(end), window.numbered, line);
    } else if (begin >= 0) {
      thin.add(static_cast<int>(begin), parts.front().ink, end - begin);
    }
  }
  thin.write(picture, line);
  return line;
}

// The nearest of the 6 x 6 x 6 colours that every terminal of 256 has.
int terminal_colour(std::string_view colour) {
  const Rgb rgb = rgb_of(colour);
  const auto level = [](int channel) { return (channel * 5 + 127) / 255; };
  return 16 + 36 * level(rgb.red) + 6 * level(rgb.green) + level(rgb.blue);
}

std::string ink_escape(const PictureInk& ink) {
  return fmt::format("\033[48;5;{}m\033[38;5;{}m", terminal_colour(ink.colour),
                     terminal_colour(text_on(ink.colour)));
}

std::string name_of(const PictureRow& row, const std::string& group) {
  if (group.empty() || row.name.empty()) return group + row.name;
  return group + " " + row.name;
}

struct Names {
  std::vector<std::string> texts;
  std::size_t width = 0;
};
Names names_of(const PictureBlock& block) {
  Names names;
  std::string group;
  for (const PictureRow& row : block.rows) {
    if (!row.group.empty()) group = row.group;
    names.texts.push_back(shortened(printable(name_of(row, group)), kMostName));
    names.width = std::max(names.width, characters(names.texts.back()));
  }
  return names;
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, characters(text)), ' ');
}

std::string axis_text(const TextWindow& window) {
  std::string line;
  for (const AxisTick& tick :
       axis_ticks(window.column * window.columns, std::max(1, window.columns / kRoomOfTick))) {
    const auto at = static_cast<std::size_t>(rounded(tick.at / window.column));
    if (at + tick.text.size() > static_cast<std::size_t>(window.columns)) break;
    line.resize(std::max(line.size(), at), ' ');
    line += tick.text;
  }
  return line;
}

std::string block_text(const Picture& picture, const PictureBlock& block, const TextLook& look) {
  const Names names = names_of(block);
  const int room = std::max(kFewestColumns, look.width - static_cast<int>(names.width) - 3);
  const TextWindow window{picture.end / room, 0, room, block.numbered};
  std::string text = shortened(printable(block.title) + ": " + block.caption, kMostTitle) + "\n";
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    if (block.left_out > 0 && i == block.gap_after)
      text += fmt::format("  ({} {} left out)\n", block.left_out, block.unit);
    text += "  " + padded(names.texts[i], names.width) + " " +
            row_text(picture, block.rows[i], window, look) + "\n";
  }
  return text + std::string(names.width + 3, ' ') + axis_text(window) + "\n";
}

std::string legend_text(const Picture& picture, const TextLook& look) {
  std::string text;
  bool later = false;
  for (const PictureInk& ink : picture.inks) {
    later = later || ink.later;
    if (!ink.later) text += fmt::format("{} {}, ", ink.letter, ink.name);
  }
  if (later) text += "lower case: a later chunk or the second direction, ";
  return wrapped(text + "dots: idle", look.width, 2) + "\n";
}

}  // namespace

std::string row_text(const Picture& picture, const PictureRow& row, const TextWindow& window,
                     const TextLook& look) {
  std::string text;
  int ink = kNoInk;
  for (const Glyph& glyph : glyphs_of(picture, row, window)) {
    if (look.colour && glyph.ink != ink) {
      text += "\033[0m";
      if (glyph.ink != kNoInk)
        text += ink_escape(picture.inks[static_cast<std::size_t>(glyph.ink)]);
      ink = glyph.ink;
    }
    if (glyph.letter != 0) {
      text += glyph.letter;
    } else {
      text += look.unicode ? "·" : ".";
    }
  }
  if (ink != kNoInk && look.colour) text += "\033[0m";
  return text;
}

std::string picture_text(const Picture& picture, const TextLook& look) {
  if (picture.end <= Seconds{}) return "";
  std::string text;
  for (const PictureBlock& block : picture.blocks) text += block_text(picture, block, look);
  return text + legend_text(picture, look);
}

}  // namespace shardsim
