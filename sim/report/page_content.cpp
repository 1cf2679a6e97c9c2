#include "report/page_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "base/units.h"
#include "report/figures.h"
#include "report/page_data.h"

namespace shardsim {

namespace {

struct TableCell {
  std::string text;
  bool number = false;
};
using TableRows = std::vector<std::vector<TableCell>>;

std::string cells_of(const std::vector<TableCell>& row, const char* tag) {
  std::string html = "<tr>";
  for (const TableCell& cell : row) {
    html += fmt::format("<{}{}>{}</{}>", tag, cell.number ? " class=\"number\"" : "",
                        html_text(cell.text), tag);
  }
  return html + "</tr>\n";
}

// The first row is the head.
std::string table(std::string_view caption, const TableRows& rows) {
  if (rows.size() < 2) return "";
  std::string html = fmt::format("<div class=\"scroll\"><table><caption>{}</caption>\n<thead>",
                                 html_text(caption));
  html += cells_of(rows.front(), "th") + "</thead>\n<tbody>\n";
  for (std::size_t i = 1; i < rows.size(); ++i) html += cells_of(rows[i], "td");
  return html + "</tbody></table></div>\n";
}

const Array& list_at(const Json& value, std::string_view key) {
  static const Array none;
  const Json* const found = find(value, key);
  const Array* list = found == nullptr ? nullptr : std::get_if<Array>(&found->data);
  return list == nullptr ? none : *list;
}

TableCell time_at(const Json& value, std::string_view key) {
  const std::optional<double> s = number_at(value, key);
  return {s ? to_text(Seconds{*s}) : "", true};
}
TableCell bytes_at(const Json& value, std::string_view key) {
  const std::optional<double> bytes = number_at(value, key);
  return {bytes ? to_text(Bytes{*bytes}) : "", true};
}
TableCell count_at(const Json& value, std::string_view key) {
  const std::optional<double> count = number_at(value, key);
  return {count ? fmt::format("{:.10g}", *count) : "", true};
}

std::string figure_table(const Json& summary) {
  TableRows rows = {{{"figure", false}, {"value", true}}};
  for (const Figure& figure : figures()) {
    const std::optional<double> value = value_of(figure, summary);
    if (value) rows.push_back({{std::string(figure.name)}, {figure.text(*value), true}});
  }
  return table("Summary", rows);
}

// Of a run its stages, of a schedule its ranks.
std::string rank_table(const Json& summary) {
  TableRows stages = {{{"stage", true},
                       {"busy", true},
                       {"idle", true},
                       {"begins", true},
                       {"ends", true},
                       {"peak memory", true}}};
  for (const Json& stage : list_at(summary, "stages")) {
    stages.push_back({count_at(stage, "stage"), time_at(stage, "busy_s"), time_at(stage, "idle_s"),
                      time_at(stage, "first_s"), time_at(stage, "last_s"),
                      bytes_at(stage, "peak_memory_bytes")});
  }
  TableRows ranks = {{{"rank", true},
                      {"busy", true},
                      {"idle", true},
                      {"begins", true},
                      {"ends", true},
                      {"peak activations", true}}};
  for (const Json& rank : list_at(summary, "ranks")) {
    ranks.push_back({count_at(rank, "rank"), time_at(rank, "busy_s"), time_at(rank, "idle_s"),
                     time_at(rank, "first_s"), time_at(rank, "last_s"),
                     count_at(rank, "peak_activations")});
  }
  return table("Stages", stages) + table("Ranks", ranks);
}

std::string collective_rows(const Json& summary) {
  const Array& all = list_at(summary, "collectives");
  TableRows rows = {{{"collective"},
                     {"tensor"},
                     {"pass"},
                     {"algorithm"},
                     {"bytes", true},
                     {"times", true},
                     {"takes", true},
                     {"closed form", true}}};
  for (std::size_t i = 0; i < std::min(all.size(), kMostCollectivesShown); ++i) {
    const Json& one = all[i];
    rows.push_back({{text_at(one, "kind")},
                    {text_at(one, "tensor")},
                    {text_at(one, "pass")},
                    {text_at(one, "algorithm")},
                    bytes_at(one, "bytes"),
                    count_at(one, "count"),
                    time_at(one, "time_s"),
                    time_at(one, "analytic_s")});
  }
  const bool more = all.size() >= kMostCollectivesShown;
  return table(
      more ? fmt::format("Collectives (the first {}; all in summary.json)", kMostCollectivesShown)
           : "Collectives",
      rows);
}

std::string assumption_list(const Json& summary) {
  const Array& all = list_at(summary, "assumptions");
  if (all.empty()) return "";
  std::string html = "<h2>Assumptions</h2>\n<ul>\n";
  for (const Json& one : all) {
    if (const std::string* text = std::get_if<std::string>(&one.data))
      html += "<li>" + html_text(*text) + "</li>\n";
  }
  return html + "</ul>\n";
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string table_content(std::string_view caption,
                          const std::vector<std::vector<std::string>>& rows) {
  TableRows cells;
  for (const std::vector<std::string>& row : rows) {
    cells.emplace_back();
    for (const std::string& text : row) cells.back().push_back({text, cells.back().size() > 0});
  }
  return table(caption, cells);
}

std::string heading(std::string_view title) {
  return "<h1>" + html_text(title) + "</h1>\n";
}

std::string command_content(const std::string& command) {
  if (command.empty()) return "";
  return "<h2>To make this again</h2>\n<pre class=\"command\">" + html_text(command) + "</pre>\n";
}

std::string summary_content(const Json& summary) {
  return figure_table(summary) + rank_table(summary) + collective_rows(summary) +
         assumption_list(summary);
}

std::string result_content(const Json& run) {
  const Json* const summary = find(run, "summary");
  std::string html = summary == nullptr ? "" : summary_content(*summary);
  const double left_out = number_at(run, "slices_left_out").value_or(0);
  if (left_out > 0) {
    html += fmt::format(
        "<p>The timeline is drawn in less detail: {:.10g} of its slices are merged with the one "
        "before them.</p>\n",
        left_out);
  }
  return html;
}

std::string comparison_content(const Array& runs) {
  TableRows rows = {{{"figure"}}};
  for (const Json& run : runs) {
    rows.front().push_back({text_at(run, "name"), true});
    if (rows.front().size() > 2) rows.front().push_back({"difference", true});
  }
  for (const Figure& figure : figures()) {
    std::vector<TableCell> row = {{std::string(figure.name)}};
    std::optional<double> first;
    bool any = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Json* const summary = find(runs[i], "summary");
      const std::optional<double> value =
          summary == nullptr ? std::nullopt : value_of(figure, *summary);
      any = any || value;
      if (i == 0) first = value;
      row.push_back({value ? figure.text(*value) : "", true});
      if (i > 0) row.push_back({difference_text(figure, value, first), true});
    }
    if (any) rows.push_back(std::move(row));
  }
  return table("Differences to the first", rows);
}

}  // namespace shardsim
