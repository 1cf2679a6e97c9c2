// Pictures made by hand, as SVG and as text; the colours of the pages; round times.
#include "report/picture.h"

#include <doctest/doctest.h>

#include <regex>
#include <string>
#include <vector>

#include "base/file.h"
#include "report/palette.h"
#include "report/picture_svg.h"
#include "report/picture_text.h"
#include "report/time_axis.h"

using namespace shardsim;

namespace {

PictureInk ink(std::string_view name, bool later = false) {
  const Ink& row = ink_of({std::string(name), SliceGroup::compute});
  return {std::string(row.name), std::string(row.colour), row.letter, later};
}

//   rank 0   F0 0-2, F1 2-4, idle, B0 6-10
//   rank 1   idle, F0 2-4, F1 & B0 together 4-10
Picture pipeline() {
  Picture picture;
  picture.title = "two ranks";
  picture.end = Seconds{10};
  picture.inks = {ink("forward"), ink("backward")};
  picture.labels = {{}, {"0", ""}, {"1", ""}};
  PictureBlock block;
  block.title = "Pipeline";
  block.caption = "by hand";
  block.numbered = true;
  const auto box = [](double from, double to, std::uint32_t of, std::uint32_t label) {
    return PictureBox{Seconds{from}, Seconds{to}, of, label};
  };
  block.rows.push_back({"rank 0", "", {box(0, 2, 0, 1), box(2, 4, 0, 2), box(6, 10, 1, 1)}, {}});
  block.rows.push_back({"rank 1",
                        "",
                        {box(2, 4, 0, 1), box(4, 7, 0, 2), box(7, 10, 1, 1)},
                        {{Seconds{4}, Seconds{10}}}});
  picture.blocks = {block};
  return picture;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("pictures as text: letters with their numbers, dots, an axis, a legend") {
  CHECK(picture_text(pipeline(), {.width = 49}) ==
        "Pipeline: by hand\n"
        "  rank 0 F0      F1      ........B0              \n"
        "  rank 1 ........F0      F1B0                    \n"
        "         0 s                 5 s\n"
        "F forward, B backward, dots: idle\n");
}

TEST_CASE("pictures as text: thin boxes show what takes most of their column, or that it is idle") {
  Picture picture = pipeline();
  picture.blocks.front().numbered = false;
  std::vector<PictureBox> boxes;
  for (int i = 0; i < 10; ++i) {  // in each second 0.3 forward and 0.5 backward; at last 0.05
    boxes.push_back({Seconds{i + 0.1}, Seconds{i + 0.4}, 0, 0});
    boxes.push_back({Seconds{i + 0.4}, Seconds{i + 0.9}, 1, 0});
  }
  boxes.back().end = boxes.back().begin;
  boxes[18].end = boxes[18].begin + Seconds{0.05};
  const PictureRow row = {"", "compute", boxes, {}};
  CHECK(row_text(picture, row, {Seconds{1}, 0, 10, false}, {}) == "BBBBBBBBB.");
  CHECK(row_text(picture, row, {Seconds{1}, 5, 5, false}, {.unicode = true}) == "BBBB·");
}

TEST_CASE("pictures as text: colours are escapes that end with the row") {
  const Picture picture = pipeline();
  const std::string row =
      row_text(picture, picture.blocks[0].rows[0], {Seconds{1}, 0, 10, true}, {.colour = true});
  CHECK(std::regex_replace(row, std::regex("\033\\[[0-9;]*m"), "") == "F0F1..B0  ");
  CHECK(count_of(row, "\033[48;5;") == 2);  // two inks, each once
  CHECK(row.ends_with("\033[0m"));
}

TEST_CASE("pictures as SVG: boxes at their times, numbers, one frame, names as text") {
  Picture picture = pipeline();
  picture.title = "<b>&\"";
  const std::string svg = picture_svg(picture);
  CHECK(svg == picture_svg(picture));
  CHECK(svg.find("<b>") == std::string::npos);
  CHECK(count_of(svg, "&lt;b&gt;&amp;&quot;</text>") == 1);
  CHECK(count_of(svg, "text-anchor=\"middle\">0</text>") == 4);
  CHECK(count_of(svg, "text-anchor=\"middle\">1</text>") == 2);
  CHECK(count_of(svg, "stroke-width=\"1.3\"") == 1);
  CHECK(svg.find("narrower than a pixel") == std::string::npos);
  std::smatch found;
  REQUIRE(std::regex_search(
      svg, found, std::regex("fill=\"#ad570c\" d=\"M([0-9.]+) 0h([0-9.]+)v17h-[0-9.]+z\"")));
  // Row 0: B0 is the last 0.4 of the axis, up to a seam; the axis ends 16 before the edge.
  const double x = std::stod(found[1]), width = std::stod(found[2]);
  CHECK(x + width == doctest::Approx(1184 - 0.75).epsilon(1e-5));
  const double axis = (width + 0.75) / 0.4;
  CHECK(x == doctest::Approx(1184 - 0.4 * axis).epsilon(1e-4));
}

TEST_CASE("pictures as SVG: a million boxes are as large as the pixels, and the picture says so") {
  Picture picture = pipeline();
  std::vector<PictureBox>& boxes = picture.blocks[0].rows[0].boxes;
  boxes.clear();
  constexpr int kMany = 1'000'000;
  for (int i = 0; i < kMany; ++i)
    boxes.push_back({picture.end * (i / double{kMany}), picture.end * ((i + 1) / double{kMany}),
                     i % 3 == 0 ? 0u : 1u, 0});
  const std::string svg = picture_svg(picture);
  CHECK(svg.size() < 100'000);
  CHECK(svg.find("boxes are narrower than a pixel") != std::string::npos);
  // Two of three are backwards: so is every pixel.
  const std::string row = svg.substr(svg.find("<g transform"), svg.find("</g>") - svg.find("<g "));
  CHECK(row.find("#ad570c") != std::string::npos);
  CHECK(row.find("#136fec") == std::string::npos);
}

TEST_CASE("an empty picture is a picture") {
  Picture picture;
  picture.title = "nothing";
  CHECK(picture_svg(picture).ends_with("</svg>\n"));
  CHECK(picture_text(picture, {}).empty());
}

TEST_CASE("axes have round times in a unit that suits them") {
  struct Row {
    double end;
    int most;
    std::vector<std::string> texts;
  };
  const std::vector<Row> rows = {
      {0.081, 10, {"0 ms", "10 ms", "20 ms", "30 ms", "40 ms", "50 ms", "60 ms", "70 ms", "80 ms"}},
      {1, 2, {"0.0 s", "0.5 s", "1.0 s"}},
      {2.5e-6, 5, {"0.0 us", "0.5 us", "1.0 us", "1.5 us", "2.0 us", "2.5 us"}},
      {7000, 4, {"0 s", "2000 s", "4000 s", "6000 s"}},
      {3e-12, 3, {"0.000 ns", "0.001 ns", "0.002 ns", "0.003 ns"}},
      {0, 5, {"0 s"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.end);
    std::vector<std::string> texts;
    for (const AxisTick& tick : axis_ticks(Seconds{row.end}, row.most)) texts.push_back(tick.text);
    CHECK(texts == row.texts);
  }
}

TEST_CASE("the colours of pictures are those of the pages") {
  const std::string script = read_file(data_dir() + "/reports/template/palette.js", 1 << 20);
  const std::string kinds = script.substr(script.find("const KINDS"), script.find("};"));
  for (const Ink& one : inks()) {
    CAPTURE(one.name);
    if (one.name == "phase") continue;  // there the colour of what has none
    const std::string name(one.name), colour(one.colour);
    const std::string quoted = "'" + name + "': '" + colour + "'",
                      bare = name + ": '" + colour + "'";
    CHECK((kinds.find(quoted) != std::string::npos || kinds.find(bare) != std::string::npos));
  }
  CHECK(lighter("#136fec") == "#a1c5f7");
  CHECK(text_on("#136fec") == "#ffffff");
  CHECK(text_on("#f0d32c") == "#000000");
}
