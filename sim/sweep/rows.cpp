#include "sweep/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/must.h"
#include "base/units.h"
#include "base/version.h"

namespace shardsim {
namespace {

template <class Quantity>
std::string quantity_text(double value) {
  return to_text(Quantity{value});
}

struct Unit {
  FieldType type;
  std::string_view suffix;
  std::string (*text)(double);
};
constexpr std::array kUnits = {
    Unit{FieldType::bytes, "_bytes", quantity_text<Bytes>},
    Unit{FieldType::bandwidth, "_bytes_per_s", quantity_text<BytesPerSec>},
    Unit{FieldType::seconds, "_s", quantity_text<Seconds>},
};
constexpr std::string_view kAxis = "axis_";

std::string axis_column(const std::string& name, const Field* row) {
  std::string column = std::string(kAxis) + name;
  for (const Unit& unit : kUnits)
    if (row != nullptr && row->type == unit.type) column += unit.suffix;
  return column;
}

bool is_quantity(const Field* row) {
  return row != nullptr && std::any_of(kUnits.begin(), kUnits.end(),
                                       [&](const Unit& unit) { return unit.type == row->type; });
}

const Unit* unit_of(std::string_view column) {
  for (const Unit& unit : kUnits)
    if (column.ends_with(unit.suffix)) return &unit;
  return nullptr;
}

bool is_whole(ResultFigure figure) {
  constexpr std::array kWhole = {ResultFigure::fits_memory, ResultFigure::chips,
                                 ResultFigure::operations};
  return std::find(kWhole.begin(), kWhole.end(), figure) != kWhole.end();
}

}  // namespace

std::vector<StoreColumn> columns_of(const SweepSpec& spec) {
  std::vector<StoreColumn> columns = {{"point", "INTEGER"}, {"status", "TEXT"}, {"reason", "TEXT"}};
  for (const SweepAxis* axis : spec.axes())
    columns.push_back({axis_column(axis->name, axis->row), "NUMERIC"});
  for (const DerivedField& derived : spec.derived)
    columns.push_back({axis_column(derived.name, derived.row), "NUMERIC"});
  const auto rows = figure_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    columns.push_back(
        {std::string(rows[i].name), is_whole(static_cast<ResultFigure>(i)) ? "INTEGER" : "REAL"});
  columns.push_back({"run_yaml", "TEXT"});
  columns.push_back({"version", "TEXT"});
  return columns;
}

Row row_of(const SweepSpec& spec, const Candidate& candidate, const PointResult& result) {
  Row row;
  row.reserve(8 + kFigures + candidate.values.size());
  row.emplace_back(static_cast<std::int64_t>(result.point));
  row.emplace_back(std::string(to_text(result.status)));
  row.emplace_back(result.reason.empty() ? Datum{} : Datum{result.reason});
  const std::vector<const SweepAxis*> axes = spec.axes();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const AxisValue& value = *candidate.values[i];
    if (is_quantity(axes[i]->row) && value.number) {
      row.emplace_back(*value.number);
    } else {
      row.emplace_back(value.text);
    }
  }
  for (const double derived : candidate.derived) row.emplace_back(derived);
  for (const std::optional<double>& figure : result.figures)
    row.push_back(figure ? Datum{*figure} : Datum{});
  row.emplace_back(result.run_yaml);
  row.emplace_back(std::string(kVersion));
  return row;
}

ResultReader::ResultReader(const std::vector<StoreColumn>& columns) {
  const auto at = [&](std::string_view name) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const StoreColumn& column) { return column.name == name; });
    must(found != columns.end(), "the format of the database says which columns there are");
    return static_cast<std::size_t>(found - columns.begin());
  };
  status = at("status");
  reason = at("reason");
  yaml = at("run_yaml");
  for (const FigureRow& row : figure_rows()) figures.push_back(at(row.name));
}

PointResult ResultReader::read(const Row& row) const {
  PointResult result;
  result.point = static_cast<std::uint64_t>(std::get<std::int64_t>(row[0]));
  result.status = point_status(datum_text(row[status])).value_or(PointStatus::failed);
  result.reason = datum_text(row[reason]);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Datum& cell = row[figures[i]];
    if (const auto* number = std::get_if<double>(&cell)) result.figures[i] = *number;
    if (const auto* whole = std::get_if<std::int64_t>(&cell))
      result.figures[i] = static_cast<double>(*whole);
  }
  result.run_yaml = datum_text(row[yaml]);
  return result;
}

void ResultReader::write(const PointResult& result, Row& row) const {
  row[status] = std::string(to_text(result.status));
  row[reason] = result.reason.empty() ? Datum{} : Datum{result.reason};
  for (std::size_t i = 0; i < figures.size(); ++i)
    row[figures[i]] = result.figures[i] ? Datum{*result.figures[i]} : Datum{};
}

std::string axis_label(std::string_view column) {
  if (const Unit* unit = unit_of(column)) column.remove_suffix(unit->suffix.size());
  return std::string(column.substr(kAxis.size()));
}

std::string axis_text(std::string_view column, const Datum& cell) {
  const Unit* const unit = unit_of(column);
  if (const auto* whole = std::get_if<std::int64_t>(&cell); unit != nullptr && whole != nullptr)
    return unit->text(static_cast<double>(*whole));
  if (const auto* number = std::get_if<double>(&cell); unit != nullptr && number != nullptr)
    return unit->text(*number);
  return datum_text(cell);
}

std::string datum_text(const Datum& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *whole);
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{}", *number);
  return "";
}

Json datum_json(const Datum& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  return nullptr;
}

}  // namespace shardsim
