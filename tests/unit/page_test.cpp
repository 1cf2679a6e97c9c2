// Pages: hostile strings are text in them, the same input gives the same bytes, and what was
// written is read back.
#include "report/page.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "../support/handmade_run.h"
#include "base/file.h"
#include "base/gzip.h"
#include "report/page_comparison.h"
#include "report/page_content.h"
#include "report/page_read.h"
#include "report/reports.h"

using namespace shardsim;
using shardsim::testing::Handmade;
using shardsim::testing::Ranks;

namespace {

constexpr const char* kHostile =
    "<script>alert(1)</script></title><!-- \"'&\x01 \xe2\x80\xa8 \xff ]]>";

std::string page_of(const Run& run) {
  const Metrics metrics = measure(run);
  PageData data{"timeline", run.name, "shardsim run " + run.name, {}};
  data.runs.push_back(page_run(run, metrics, run_summary(run, metrics), data.command));
  return timeline_page(data);
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// A page in a file of its own, removed at the end.
struct PageFile {
  std::string path;

  explicit PageFile(const std::string& content)
      : path((std::filesystem::temp_directory_path() /
              ("shardsim-page-" + std::to_string(::getpid()) + ".html"))
                 .string()) {
    write_files({{path, content}});
  }
  ~PageFile() { std::filesystem::remove(path); }
};

std::string problem_with(const std::string& content) {
  const PageFile file(content);
  std::vector<Problem> problems;
  const Array runs = read_page(file.path, problems);
  CHECK(runs.empty() == !problems.empty());
  return problems.empty() ? "" : problems.front().message;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("pages: hostile names are text") {
  Handmade made = shardsim::testing::two_ranks();
  made.run.name = kHostile;
  for (Origin& origin : made.run.graph.origins) origin.name = kHostile;
  made.run.plan.assumptions = {kHostile};
  made.run.graph.links[0].name = kHostile;
  const std::string page = page_of(made.run);
  const std::string plain = page_of(shardsim::testing::two_ranks().run);
  // No tag and no comment more than with harmless names.
  for (const char* tag : {"<script", "</script", "<!--", "</title", "<title"}) {
    CAPTURE(tag);
    CHECK(count(page, tag) == count(plain, tag));
  }
  CHECK(count(page, "alert(1)") > 3);
  CHECK(page.find('\x01') == std::string::npos);
  CHECK(count(page, "\\u003cscript>alert(1)") > 0);
}

TEST_CASE("pages: runs of one op and of none, and the same bytes twice") {
  Handmade none(Ranks{{0}});
  CHECK(page_of(none.run) == page_of(none.run));
  Handmade one(Ranks{{0}});
  one.compute(0, 0, 3);
  CHECK(page_of(one.run).find("\"step_s\":3.0") != page_of(one.run).find("\"step_s\":3,"));
  CHECK(problem_with(page_of(none.run)) == "");
  CHECK(problem_with(page_of(one.run)) == "");
}

TEST_CASE("pages are read back: what does not fit is said") {
  const std::string page = page_of(shardsim::testing::two_ranks().run);
  CHECK(problem_with(page) == "");
  struct Row {
    const char *what, *by, *message;
  };
  const Row rows[] = {
      {"shardsim-page-1", "shardsim-page-0",
       "expected data of the version shardsim-page-1, found \"shardsim-page-0\""},
      {"id=\"data\"", "id=\"date\"", "expected a page that shardsim wrote, found no data in it"},
      {"\"runs\":[", "\"runs\":[}", "expected JSON, found \"}\""},
      {"\"runs\":[", "\"runs\":[],\"runs\":[", "expected every key once, found \"runs\" twice"},
      {"\"runs\":[", "\"runs\":[],\"rums\":[",
       "expected a run or schedule in the page, found none"},
      {"\"kind\":\"run\"", "\"kind\":7", "expected a text \"kind\" in runs[0], found none"},
      {"\"step_s\":9", "\"step_s\":-9", "expected a time \"step_s\" in runs[0], found none"},
      {"\"slices\":{\"count\":6", "\"slices\":{\"count\":7",
       "expected 7 rows of runs[0].slices.track, found 6"},
      {"\"slices\":{\"count\":6", "\"slices\":{\"count\":1e99",
       "expected a number \"count\" from 0 to 20000000 in runs[0].slices, found none"},
      {"\"arrows\":{\"count\"", "\"arrow\":{\"count\"",
       "expected an object \"arrows\" in runs[0], found none"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.by);
    CHECK(problem_with(replaced(page, row.what, row.by)) == row.message);
  }
  // An index beyond what it is of: six zeroes and more as origins.
  const std::string deep = replaced(page, "\"runs\":[", "\"runs\":" + std::string(100000, '['));
  CHECK(problem_with(deep) == "expected at most 64 levels, found more");
  CHECK(problem_with(page.substr(0, page.find("\"slices\""))) ==
        "expected the end of the page's data, found the end of the file: it is cut off");
  CHECK(problem_with(replaced(page, "\"track\":\"", "\"track\":\"/////w////")) != "");
}

TEST_CASE("a comparison: differences to the first, relative or in points") {
  const auto run = [](double step, double bubble, double mfu) {
    return Json(Object{{"name", "r"},
                       {"kind", "run"},
                       {"command", ""},
                       {"summary", Object{{"step_time_s", step},
                                          {"bubble_fraction", bubble},
                                          {"mfu", mfu == 0 ? Json(nullptr) : Json(mfu)}}}});
  };
  const Array runs = {run(2, 0.25, 0.5), run(3, 0.125, 0.0)};
  CHECK(page_comparison_text(runs) ==
        "A  r\n"
        "B  r\n"
        "\n"
        "figure                                A           B\n"
        "step                                2 s         3 s\n"
        "                                            +50.0 %\n"
        "bubble of all ranks              25.0 %      12.5 %\n"
        "                                        -12.5 points\n"
        "MFU                              50.0 %\n");
  const Json json = page_comparison_json(runs);
  const Array& figures = std::get<Array>(find(json, "figures")->data);
  REQUIRE(figures.size() == 3);
  const Array& differences = std::get<Array>(find(figures[0], "differences")->data);
  CHECK(std::get<double>(differences[1].data) == 0.5);
  CHECK(std::get<double>(std::get<Array>(find(figures[1], "differences")->data)[1].data) == -0.125);
}

TEST_CASE("gzip: the same bytes twice, much less than repetition takes") {
  const std::string text(3'000'000, 'x');
  CHECK(gzip(text) == gzip(text));
  CHECK(gzip(text).size() < text.size() / 200);
  CHECK(gzip("").substr(0, 3) == "\x1f\x8b\x08");
  CHECK(gzip("").substr(4, 4) == std::string(4, '\0'));  // no time
}
