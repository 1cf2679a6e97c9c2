// Results as rows of the store, and back.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/json.h"
#include "sweep/points.h"
#include "sweep/result_columns.h"
#include "sweep/store.h"

namespace shardsim {

// point, status, reason, an axis_… for every axis, variable and derived field, every figure,
// run_yaml, version.
std::vector<StoreColumn> columns_of(const SweepSpec& spec);

Row row_of(const SweepSpec& spec, const Candidate& candidate, const PointResult& result);

// The parts of a row that do not come from the candidate; columns as of the store.
struct ResultReader {
  explicit ResultReader(const std::vector<StoreColumn>& columns);
  PointResult read(const Row& row) const;
  void write(const PointResult& result, Row& row) const;  // status, reason and figures

  std::size_t status = 0, reason = 0, yaml = 0;
  std::vector<std::size_t> figures;
};

// For tables, of a column axis_…: "bandwidth" of axis_bandwidth_bytes_per_s, and "450 GB/s".
std::string axis_label(std::string_view column);
std::string axis_text(std::string_view column, const Datum& cell);

// "8", "0.5", "h100-sxm"; empty: null.
std::string datum_text(const Datum& cell);
Json datum_json(const Datum& cell);

}  // namespace shardsim
