#include "command/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/problem.h"
#include "command/arguments.h"
#include "report/page.h"
#include "report/page_comparison.h"
#include "report/page_read.h"

namespace shardsim {

namespace {

// Runs of one name are told apart by where they are.
void tell_apart(Array& runs, const std::vector<std::string>& from) {
  std::vector<std::string> names;
  for (const Json& run : runs) names.push_back(text_at(run, "name"));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (std::count(names.begin(), names.end(), names[i]) < 2) continue;
    for (auto& [key, value] : std::get<Object>(runs[i].data))
      if (key == "name") value = fmt::format("{} ({})", names[i], from[i]);
  }
}

Array read_all(const CompareArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  const auto expect_count = [&](std::size_t found) {
    problems.push_back({argument_pos("compare", args.paths.back()),
                        fmt::format("expected 2 to {} runs, found {}", kMostCompared, found),
                        ""});
  };
  if (args.paths.size() > kMostCompared) expect_count(args.paths.size());
  throw_if_any(problems);
  Array runs;
  std::vector<std::string> from;
  for (const std::string& path : args.paths) {
    for (Json& run : read_page(path, problems)) {
      runs.push_back(std::move(run));
      from.push_back(path);
    }
  }
  throw_if_any(problems);
  if (runs.size() < 2 || runs.size() > kMostCompared) expect_count(runs.size());
  throw_if_any(problems);
  tell_apart(runs, from);
  return runs;
}

std::string title_of(const Array& runs) {
  std::vector<std::string> names;
  for (const Json& run : runs) names.push_back(text_at(run, "name"));
  return fmt::format("{}", fmt::join(names, " beside "));
}

}  // namespace

void compare_command(const CompareArguments& args) {
  Array runs = read_all(args);
  const std::string text =
      args.format == "json" ? to_json(page_comparison_json(runs)) : page_comparison_text(runs);
  if (args.out) {
    const std::string title = title_of(runs);
    write_files({{*args.out, timeline_page({"compare", title, args.command, std::move(runs)})}});
  }
  if (args.format == "json") return print(text);
  print(text + (args.out ? fmt::format("\nwrote {}\n", *args.out)
                         : "\nnext: --out compare.html draws them on one time axis\n"));
}

Json compare_document(const CompareArguments& args) {
  return page_comparison_json(read_all(args));
}

}  // namespace shardsim
