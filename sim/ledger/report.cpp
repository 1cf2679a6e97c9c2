#include "ledger/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/csv.h"
#include "base/problem.h"
#include "report/reports.h"

namespace shardsim {

namespace {

constexpr int kWidth = 100;

// A section of the summary: the rows that came to one thing.
struct Section {
  std::string title, meaning;
  std::vector<const RowResult*> rows;
};

std::string status_text(RowStatus status) {
  return status == RowStatus::not_yet ? "not yet" : "not simulated";
}

std::string outcome_text(const RowResult& row) {
  return row.verdict ? std::string(to_text(*row.verdict)) : status_text(row.row->status);
}

std::vector<Section> sections_of(const LedgerResult& result) {
  std::vector<Section> sections = {
      {"holds", "the claim is true at every point", {}},
      {"holds if", "true where the condition is, false elsewhere", {}},
      {"imprecise", "true at some points only", {}},
      {"wrong", "true at no point", {}},
      {"not yet", "the program cannot simulate it yet", {}},
      {"not simulated", "nothing that a simulation could show", {}},
  };
  for (const RowResult& row : result.rows) {
    for (Section& section : sections) {
      if (section.title == outcome_text(row)) section.rows.push_back(&row);
    }
  }
  return sections;
}

std::string rows_word(std::size_t count) {
  return fmt::format("{} row{}", count, count == 1 ? "" : "s");
}

// What a reader should know besides the statement.
std::string remark(const RowResult& row) {
  const LedgerRow& is = *row.row;
  if (!is.why.empty()) return is.why;
  if (is.status == RowStatus::repeat) return fmt::format("the same as {}", is.same_as);
  std::string text;
  if (!is.condition_words.empty()) text = fmt::format("if {}", is.condition_words);
  if (!is.instead.empty())
    text += fmt::format("{}instead: {}", text.empty() ? "" : "; ", is.instead);
  return text;
}

std::string number(double value, const std::string& unit) {
  if (unit == "s" && value >= 0) return fine_text(Seconds{value});
  return unit.empty() || unit == "1" ? fmt::format("{:.7g}", value)
                                     : fmt::format("{:.7g} {}", value, unit);
}

std::string off_text(double simulated, double other) {
  return fmt::format("{:.1e}", off_by(simulated, other));
}

std::string indented(std::string_view label, std::string_view text) {
  return fmt::format("  {:<10}{}\n", label, wrapped(text, kWidth, 12));
}

std::string failures_text(const RowResult& row) {
  std::string text;
  for (const std::string& failure : row.failures) text += indented("FAILED", failure);
  return text;
}

std::string formula_text(const std::optional<Formula>& formula) {
  return formula ? formula->text.text : "";
}

// Columns that no point fills are left out; names, which may be long, come last.
Rows point_rows(const RowResult& row) {
  const auto any = [&](auto has) { return std::any_of(row.points.begin(), row.points.end(), has); };
  const bool conditioned = any([](const JudgedPoint& p) { return p.condition.has_value(); });
  const bool exact = any([](const JudgedPoint& p) { return p.exact.has_value(); });
  const bool book = any([](const JudgedPoint& p) { return p.book.has_value(); });
  Rows table = {{"simulated", "claim", "off", "within", "claim is"}};
  if (conditioned) table.front().emplace_back("condition");
  if (exact) table.front().emplace_back("off exact");
  if (book) table.front().emplace_back("book");
  table.front().emplace_back("point");
  for (const JudgedPoint& point : row.points) {
    std::vector<std::string> cells = {
        number(point.simulated, point.unit), number(point.claim, point.unit),
        off_text(point.simulated, point.claim), fmt::format("{:g}", point.within),
        point.holds ? "true" : "false"};
    if (conditioned) cells.emplace_back(point.condition.value_or(true) ? "true" : "false");
    if (exact) cells.push_back(point.exact ? off_text(point.simulated, *point.exact) : "-");
    if (book) cells.push_back(point.book ? number(*point.book, point.unit) : "-");
    cells.push_back(point.name);
    table.push_back(std::move(cells));
  }
  return table;
}

// Commands of all points, each once.
std::vector<std::pair<std::string, std::string>> commands_of(const RowResult& row) {
  std::vector<std::pair<std::string, std::string>> commands;
  for (const JudgedPoint& point : row.points) {
    for (const FigureResult& figure : point.figures) {
      std::pair<std::string, std::string> one{figure.name, figure.is.command};
      if (std::find(commands.begin(), commands.end(), one) == commands.end()) {
        commands.push_back(std::move(one));
      }
    }
  }
  return commands;
}

std::string details_of(const RowResult& row) {
  const LedgerRow& is = *row.row;
  std::string text = fmt::format(
      "{}{}: {}{}\n", is.id, is.group.empty() ? "" : fmt::format(" ({})", printable(is.group)),
      outcome_text(row), row.failures.empty() ? "" : ", and this row FAILS");
  text += indented("statement", is.statement) + indented("source", is.source);
  if (!is.why.empty()) text += indented("why", is.why);
  if (is.status == RowStatus::repeat) text += indented("same as", is.same_as);
  if (!is.condition_words.empty()) text += indented("if", is.condition_words);
  if (!is.instead.empty()) text += indented("instead", is.instead);
  if (!is.common.note.empty()) text += indented("note", is.common.note);
  if (is.common.claim) text += indented("claim", formula_text(is.common.claim));
  if (is.common.condition) text += indented("condition", formula_text(is.common.condition));
  if (is.common.exact) text += indented("exact", formula_text(is.common.exact));
  if (!row.misleads.empty()) text += indented("but", row.misleads);
  for (const LedgerFigure& figure : is.common.figures) {
    text += indented(figure.name, "what is taken of the JSON: " + figure.take.text.text);
  }
  text += failures_text(row);
  if (row.points.empty()) return text;
  text += "\n" + rows_text(point_rows(row)) + "\n";
  for (const JudgedPoint& point : row.points) {
    if (!point.differs.empty()) text += indented("differs", point.name + ": " + point.differs);
    if (!point.note.empty() && point.note != is.common.note) {
      text += indented("note", point.name + ": " + point.note);
    }
  }
  for (const auto& [name, command] : commands_of(row)) {
    text += fmt::format("  {} = {}\n", name, command);  // not wrapped: it is to be copied
  }
  if (text.find(" configs/") != std::string::npos) {
    text += indented("from", "the folder of the project, where configs/ is");
  }
  return text;
}

std::string count_text(const LedgerResult& result) {
  std::vector<std::string> counts;
  for (const Section& section : sections_of(result)) {
    if (!section.rows.empty()) {
      counts.push_back(fmt::format("{} {}", section.rows.size(), section.title));
    }
  }
  return fmt::format("{}: {}", rows_word(result.rows.size()), fmt::join(counts, ", "));
}

constexpr std::string_view kMethod =
    "every collective and run is replayed twice, with every device (up to 64) and folded by "
    "symmetry, every plan is played on sets, and what has an exact formula must agree to 1e-9";

// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c == '\n' ? ' ' : c;
  }
  return safe;
}

std::string markdown(const LedgerResult& result) {
  std::string text = fmt::format("# Formula ledger\n\n{}. {} different commands; {}.\n",
                                 count_text(result), result.commands, kMethod);
  text +=
      fmt::format("{} failed.\n", failed_rows(result) == 0
                                      ? "No row"
                                      : rows_word(static_cast<std::size_t>(failed_rows(result))));
  for (const Section& section : sections_of(result)) {
    if (section.rows.empty()) continue;
    text += fmt::format(
        "\n## {} ({}): {}\n\n| row | statement | source | remark | worst off exact "
        "| reproduce |\n|---|---|---|---|---|---|\n",
        section.title, section.rows.size(), section.meaning);
    for (const RowResult* row : section.rows) {
      double worst = -1;
      for (const JudgedPoint& point : row->points) {
        if (point.exact) worst = std::max(worst, off_by(point.simulated, *point.exact));
      }
      text += fmt::format("| {} | {} | {} | {}{} | {} | `shardsim validate --only {}` |\n",
                          row->row->id, cell(row->row->statement), cell(row->row->source),
                          row->failures.empty() ? "" : "**FAILED** ", cell(remark(*row)),
                          worst < 0 ? "" : fmt::format("{:.1e}", worst), row->row->id);
    }
  }
  text += "\n## Points\n";
  for (const RowResult& row : result.rows) {
    if (row.points.empty()) continue;
    text += fmt::format(
        "\n### {}\n\n{}\n\n| point | simulated | claim | off | claim is | exact | "
        "book |\n|---|---|---|---|---|---|---|\n",
        row.row->id, cell(row.row->statement));
    for (const JudgedPoint& point : row.points) {
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", cell(point.name),
                          number(point.simulated, point.unit), number(point.claim, point.unit),
                          off_text(point.simulated, point.claim), point.holds ? "true" : "false",
                          point.exact ? number(*point.exact, point.unit) : "",
                          point.book ? number(*point.book, point.unit) : "");
    }
    for (const std::string& failure : row.failures)
      text += fmt::format("\n**FAILED** {}\n", failure);
    text += "\n```\n";
    for (const auto& [name, command] : commands_of(row)) text += command + "\n";
    text += "```\n";
  }
  return text;
}

std::string csv(const LedgerResult& result) {
  std::string text =
      "id,group,verdict,recorded,point,simulated,claim,within,claim_holds,condition,exact,book,"
      "unit,failures\n";
  for (const RowResult& row : result.rows) {
    const std::string recorded =
        row.row->status == RowStatus::simulated ? std::string(to_text(row.row->verdict)) : "";
    const std::string head = fmt::format("{},{},{},{}", row.row->id, csv_field(row.row->group),
                                         outcome_text(row), recorded);
    if (row.points.empty()) text += head + ",,,,,,,,,,\n";
    for (const JudgedPoint& point : row.points) {
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{}\n", head, csv_field(point.name),
          exact_text(point.simulated), exact_text(point.claim), exact_text(point.within),
          point.holds ? 1 : 0, point.condition ? (*point.condition ? "1" : "0") : "",
          point.exact ? exact_text(*point.exact) : "", point.book ? exact_text(*point.book) : "",
          csv_field(point.unit), csv_field(fmt::format("{}", fmt::join(point.failures, "; "))));
    }
  }
  return text;
}

Json optional_number(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json point_json(const JudgedPoint& point) {
  Array figures;
  for (const FigureResult& figure : point.figures) {
    figures.push_back(Object{{"name", figure.name},
                             {"command", figure.is.command},
                             {"value", figure.is.value},
                             {"folded_value", optional_number(figure.folded)},
                             {"replayed", figure.is.replayed},
                             {"every_device", figure.is.full},
                             {"plan_played", figure.is.played}});
  }
  return Object{{"name", point.name},
                {"simulated", point.simulated},
                {"claim", point.claim},
                {"within", point.within},
                {"claim_holds", point.holds},
                {"condition", point.condition ? Json(*point.condition) : Json(nullptr)},
                {"exact", optional_number(point.exact)},
                {"book", optional_number(point.book)},
                {"unit", point.unit},
                {"differs", point.differs},
                {"figures", std::move(figures)},
                {"failures", point.failures}};
}

}  // namespace

int failed_rows(const LedgerResult& result) {
  return static_cast<int>(std::count_if(result.rows.begin(), result.rows.end(),
                                        [](const RowResult& r) { return !r.failures.empty(); }));
}

std::string ledger_summary(const LedgerResult& result) {
  std::string text = wrapped(count_text(result), kWidth, 0) + "\n";
  if (failed_rows(result) == 0) text += "all as recorded, no row fails\n";
  text += wrapped(fmt::format("{} different commands; {}", result.commands, kMethod), kWidth, 0);
  text += "\n";
  for (const Section& section : sections_of(result)) {
    if (section.rows.empty()) continue;
    text += fmt::format("\n{}: {} ({})\n", section.title, section.meaning,
                        rows_word(section.rows.size()));
    Rows table = {{"row", "group", "statement"}};
    for (const RowResult* row : section.rows) {
      const std::string more = remark(*row);
      table.push_back({row->row->id, row->row->group,
                       row->row->statement + (more.empty() ? "" : fmt::format(" [{}]", more))});
    }
    text += rows_text(table);
  }
  const int failed = failed_rows(result);
  if (failed > 0) {
    text += fmt::format("\nFAILED: {}\n", rows_word(static_cast<std::size_t>(failed)));
    for (const RowResult& row : result.rows) {
      if (row.failures.empty()) continue;
      text += fmt::format("  {}\n", row.row->id) + indented("statement", row.row->statement) +
              failures_text(row);
    }
  }
  return text +
         "\nnext: shardsim validate --only ID shows every figure and command of a row; --out "
         "DIR\nwrites ledger.md, ledger.json, ledger.csv, regime.csv and regime.txt\n";
}

std::string ledger_details(const LedgerResult& result) {
  std::string text;
  for (const RowResult& row : result.rows) text += (text.empty() ? "" : "\n") + details_of(row);
  return text;
}

static std::string recorded_text(const LedgerRow& row) {
  if (row.status == RowStatus::simulated) return std::string(to_text(row.verdict));
  return row.status == RowStatus::repeat ? "as " + row.same_as : status_text(row.status);
}

std::string ledger_list(const std::vector<LedgerRow>& rows) {
  Rows table = {{"row", "group", "recorded", "statement"}};
  for (const LedgerRow& row : rows) {
    table.push_back({row.id, row.group, recorded_text(row), row.statement});
  }
  return rows_text(table);
}

Json ledger_list_json(const std::vector<LedgerRow>& rows) {
  Array list;
  for (const LedgerRow& row : rows) {
    list.push_back(Object{{"id", row.id},
                          {"group", row.group},
                          {"recorded", recorded_text(row)},
                          {"statement", row.statement},
                          {"source", row.source}});
  }
  return Json(std::move(list));
}

Json ledger_json(const LedgerResult& result) {
  Array rows;
  for (const RowResult& row : result.rows) {
    const LedgerRow& is = *row.row;
    Array points;
    for (const JudgedPoint& point : row.points) points.push_back(point_json(point));
    rows.push_back(Object{
        {"id", is.id},
        {"group", is.group},
        {"statement", is.statement},
        {"source", is.source},
        {"verdict", outcome_text(row)},
        {"recorded", is.status == RowStatus::simulated ? Json(std::string(to_text(is.verdict)))
                                                       : Json(nullptr)},
        {"same_as", is.same_as.empty() ? Json(nullptr) : Json(is.same_as)},
        {"why", is.why},
        {"if", is.condition_words},
        {"instead", is.instead},
        {"note", is.common.note},
        {"claim", formula_text(is.common.claim)},
        {"exact", formula_text(is.common.exact)},
        {"condition", formula_text(is.common.condition)},
        {"misleads", row.misleads},
        {"reproduce", fmt::format("shardsim validate --only {}", is.id)},
        {"points", std::move(points)},
        {"failures", row.failures}});
  }
  Object counts;
  for (const Section& section : sections_of(result)) {
    counts.emplace_back(section.title, static_cast<std::int64_t>(section.rows.size()));
  }
  return Object{{"schema", kSchema},
                {"counts", std::move(counts)},
                {"failed", failed_rows(result)},
                {"commands", static_cast<std::int64_t>(result.commands)},
                {"method", std::string(kMethod)},
                {"rows", std::move(rows)}};
}

std::vector<OutputFile> ledger_files(const LedgerResult& result, const std::string& directory) {
  return {{directory + "/ledger.md", markdown(result)},
          {directory + "/ledger.json", to_json(ledger_json(result))},
          {directory + "/ledger.csv", csv(result)}};
}

}  // namespace shardsim
