#include "report/picture_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/page_content.h"
#include "report/palette.h"
#include "report/time_axis.h"

namespace shardsim {

namespace {

// Lengths in pixels.
constexpr double kWidth = 1200;
constexpr double kMargin = 16;
constexpr double kRow = 20;        // of one row, with the gap to the next
constexpr double kBox = 17;        // of the boxes on it
constexpr double kBlockHead = 26;  // of a block's title
constexpr double kBlockGap = 12;   // between blocks
constexpr double kRoomOfTick = 90;
constexpr double kThin = 1;      // boxes below are merged
constexpr double kSeam = 0.75;   // between boxes that abut
constexpr double kSeamFrom = 4;  // of boxes at least so wide
constexpr double kLine = 15;     // of small text
constexpr double kEm = 0.62;     // width of a character by its size, sans-serif, on the wide side
constexpr int kBoxText = 10, kSmallText = 8;  // sizes of text in a box: the first that fits
constexpr std::size_t kMostName = 28;         // characters
constexpr std::size_t kMostTitle = 120;
constexpr std::size_t kMostNote = 170;  // of one line

constexpr const char* kInkText = "#1b1f24";
constexpr const char* kQuietText = "#57606a";
constexpr const char* kGrid = "#d9dee3";
constexpr const char* kGap = "#f3f4f6";  // behind the boxes: idle

// Two decimals at most, "12.5" and "12".
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

double width_of(std::string_view text, double size) {
  return static_cast<double>(characters(text)) * size * kEm;
}

struct TextStyle {
  double size = 12;
  const char* colour = kInkText;
  const char* anchor = "start";
  bool bold = false;
};

std::string text_at(double x, double y, std::string_view text, const TextStyle& style) {
  return fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{}{}>{}</text>\n",
                     number(x), number(y), number(style.size), style.colour,
                     style.anchor == std::string_view("start")
                         ? ""
                         : fmt::format(" text-anchor=\"{}\"", style.anchor),
                     style.bold ? " font-weight=\"bold\"" : "", html_text(text));
}

// Boxes narrower than a pixel that begin in one pixel become one: as long as all of them, in the
// ink that most of their time has.
std::vector<PictureBox> thinned(const std::vector<PictureBox>& boxes, Seconds pixel,
                                std::size_t& merged) {
  std::vector<PictureBox> kept;
  std::map<std::uint32_t, Seconds> time;  // of the last box, by ink
  double last_pixel = -1;
  for (const PictureBox& box : boxes) {
    const double at = std::floor(box.begin / pixel);
    const bool thin = (box.end - box.begin) / pixel < kThin;
    if (!thin || kept.empty() || at != last_pixel) {
      kept.push_back(box);
      time = {{box.ink, box.end - box.begin}};
      last_pixel = thin ? at : -1;
      continue;
    }
    ++merged;
    time[box.ink] += box.end - box.begin;
    kept.back().end = std::max(kept.back().end, box.end);
    kept.back().ink = std::max_element(time.begin(), time.end(), [](const auto& a, const auto& b) {
                        return a.second < b.second;
                      })->first;
  }
  return kept;
}

class Sheet {
 public:
  explicit Sheet(const Picture& picture) : picture_(picture) {
    double names = 0;
    for (const PictureBlock& block : picture.blocks) {
      for (const PictureRow& row : block.rows) {
        group_ = std::max(group_, width_of(shortened(row.group, kMostName), 11));
        names = std::max(names, width_of(shortened(row.name, kMostName), 11));
      }
    }
    if (group_ > 0 && names > 0) group_ += 8;
    left_ = kMargin + group_ + names + 8;
    room_ = kWidth - kMargin - left_;
    pixel_ = picture.end > Seconds{} ? picture.end / room_ : Seconds{1};
  }

  std::string take() {
    add_head();
    for (const PictureBlock& block : picture_.blocks) add_block(block);
    add_axis();
    add_legend();
    add_notes();
    return start() + grid() + body_ + "</svg>\n";
  }

 private:
  double x(Seconds time) const { return left_ + time / pixel_; }

  std::string start() const {
    const std::string height = number(std::ceil(y_ + kMargin));
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
        "{1}\" role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', "
        "sans-serif\">\n<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" "
        "fill=\"#ffffff\"/>\n",
        number(kWidth), height, html_text(picture_.title));
  }

  void add_head() {
    y_ = kMargin + 14;
    body_ +=
        text_at(kMargin, y_, shortened(picture_.title, kMostTitle), {.size = 16, .bold = true});
    if (!picture_.caption.empty()) {
      y_ += 18;
      body_ += text_at(kMargin, y_, picture_.caption, {.colour = kQuietText});
    }
    y_ += 4;
  }

  void add_block(const PictureBlock& block) {
    y_ += kBlockHead;
    const std::string title = shortened(block.title, kMostTitle);
    body_ += text_at(left_, y_ - 8, title, {.size = 13, .bold = true});
    body_ +=
        text_at(left_ + width_of(title, 14) + 12, y_ - 8, block.caption, {.colour = kQuietText});
    const double top = y_;
    for (std::size_t i = 0; i < block.rows.size(); ++i) {
      if (block.left_out > 0 && i == block.gap_after) add_gap(block);
      add_row(block.rows[i]);
    }
    spans_.emplace_back(top, y_ - (kRow - kBox));
    y_ += kBlockGap;
  }

  void add_gap(const PictureBlock& block) {
    body_ += text_at(left_, y_ + kRow - 7, fmt::format("… {} {} …", block.left_out, block.unit),
                     {.size = 11, .colour = kQuietText});
    y_ += kRow;
  }

  void add_row(const PictureRow& row) {
    const double base = y_ + kBox / 2 + 4;
    if (!row.group.empty())
      body_ += text_at(kMargin, base, shortened(row.group, kMostName), {.size = 11});
    if (!row.name.empty()) {
      body_ += text_at(kMargin + group_, base, shortened(row.name, kMostName),
                       {.size = 11, .colour = kQuietText});
    }
    const std::vector<PictureBox> boxes = thinned(row.boxes, pixel_, merged_);
    body_ += fmt::format("<g transform=\"translate(0 {})\">\n", number(y_));
    add_boxes(boxes);
    add_texts(boxes);
    add_frames(row.frames);
    body_ += "</g>\n";
    y_ += kRow;
  }

  double drawn_width(const PictureBox& box) const {
    const double width = (box.end - box.begin) / pixel_;
    return width > kSeamFrom ? width - kSeam : width;
  }

  // One path for each ink.
  void add_boxes(const std::vector<PictureBox>& boxes) {
    std::map<std::uint32_t, std::string> paths;
    for (const PictureBox& box : boxes) {
      const double width = drawn_width(box);
      if (width < 0.005) continue;  // nothing at two decimals
      paths[box.ink] += fmt::format("M{} 0h{}v{}h-{}z", number(x(box.begin)), number(width),
                                    number(kBox), number(width));
    }
    for (const auto& [ink, path] : paths) {
      used_.resize(std::max<std::size_t>(used_.size(), ink + 1));
      used_[ink] = true;
      body_ += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", picture_.inks[ink].colour, path);
    }
  }

  void add_texts(const std::vector<PictureBox>& boxes) {
    for (const PictureBox& box : boxes) {
      const Picture::Label& label = picture_.labels[box.label];
      const double room = drawn_width(box) - 1;
      for (const auto& [text, size] : {std::pair(&label.text, kBoxText),
                                       {&label.text, kSmallText},
                                       {&label.brief, kBoxText},
                                       {&label.brief, kSmallText}}) {
        if (text->empty() || width_of(*text, size) > room) continue;
        const std::string_view ink = text_on(picture_.inks[box.ink].colour);
        body_ += fmt::format(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" "
            "text-anchor=\"middle\">{}</text>\n",
            number(x(box.begin) + drawn_width(box) / 2), number(kBox / 2 + size * 0.36), size, ink,
            html_text(*text));
        break;
      }
    }
  }

  void add_frames(const std::vector<PictureFrame>& frames) {
    std::string path;
    for (const PictureFrame& frame : frames) {
      const double width = (frame.end - frame.begin) / pixel_ - kSeam;
      if (width < 3) continue;
      path += fmt::format("M{} 0h{}v{}h-{}z", number(x(frame.begin)), number(width), number(kBox),
                          number(width));
    }
    if (path.empty()) return;
    framed_ = true;
    body_ += fmt::format("<path fill=\"none\" stroke=\"#000000\" stroke-width=\"1.3\" d=\"{}\"/>\n",
                         path);
  }

  std::vector<AxisTick> ticks() const {
    return axis_ticks(picture_.end, static_cast<int>(room_ / kRoomOfTick));
  }

  // Idle time and lines through all blocks, which lie below the boxes.
  std::string grid() const {
    std::string lines, rows;
    for (const auto& [top, bottom] : spans_) {
      rows += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                          number(left_), number(top), number(room_), number(bottom - top), kGap);
      for (const AxisTick& tick : ticks()) {
        lines += fmt::format("M{} {}V{}", number(x(tick.at)), number(top), number(bottom));
      }
    }
    return rows + fmt::format("<path stroke=\"{}\" d=\"{}\"/>\n", kGrid, lines);
  }

  void add_axis() {
    y_ += 6;
    for (const AxisTick& tick : ticks()) {
      const double room = width_of(tick.text, 11) / 2;
      body_ += text_at(
          std::clamp(x(tick.at), left_, kWidth - 2 - room), y_, tick.text,
          {.size = 11, .colour = kQuietText, .anchor = tick.at > Seconds{} ? "middle" : "start"});
    }
    y_ += 10;
  }

  struct LegendItem {
    std::string text, colour;
    bool framed = false;
  };

  std::vector<LegendItem> legend() const {
    std::vector<LegendItem> items;
    bool later = false;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) continue;
      later = later || picture_.inks[i].later;
      names.push_back(picture_.inks[i].name);
    }
    for (const Ink& ink : inks()) {
      if (std::find(names.begin(), names.end(), ink.name) != names.end())
        items.push_back({std::string(ink.name), std::string(ink.colour)});
    }
    for (std::size_t i = 0; i < used_.size(); ++i) {  // those of no row of the palette
      const PictureInk& ink = picture_.inks[i];
      const bool known = std::any_of(items.begin(), items.end(),
                                     [&](const LegendItem& item) { return item.text == ink.name; });
      if (used_[i] && !known) items.push_back({ink.name, ink.colour});
    }
    if (later)
      items.push_back({"lighter: a later chunk, or the second direction", lighter("#57606a")});
    if (framed_) items.push_back({"in one frame: run together", "", true});
    items.push_back({"idle", kGap});
    return items;
  }

  void add_legend() {
    y_ += kLine;
    double at = left_;
    for (const LegendItem& item : legend()) {
      const double width = 14 + 5 + width_of(item.text, 10) + 16;
      if (at + width > kWidth - kMargin && at > left_) {
        at = left_;
        y_ += kLine + 3;
      }
      body_ += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"11\" fill=\"{}\" stroke=\"{}\"/>\n",
          number(at), number(y_ - 10), item.framed ? "none" : item.colour,
          item.framed ? "#000000" : kGrid);
      body_ += text_at(at + 19, y_, item.text, {.size = 11});
      at += width;
    }
  }

  void add_notes() {
    std::vector<std::string> notes = picture_.notes;
    if (merged_ > 0) {
      notes.push_back(fmt::format(
          "{} boxes are narrower than a pixel (1/{:.0f} of the time shown) and drawn with the one "
          "before them.",
          merged_, room_));
    }
    for (const std::string& note : notes) {
      y_ += kLine;
      body_ += text_at(left_, y_, shortened(note, kMostNote), {.size = 11, .colour = kQuietText});
    }
  }

  const Picture& picture_;
  double group_ = 0, left_ = 0, room_ = 0, y_ = 0;
  Seconds pixel_;
  std::string body_;
  std::vector<std::pair<double, double>> spans_;  // top and bottom of blocks
  std::vector<bool> used_;                        // [inks]
  std::size_t merged_ = 0;
  bool framed_ = false;
};

}  // namespace

std::string picture_svg(const Picture& picture) {
  return Sheet(picture).take();
}

}  // namespace shardsim
