#include <fmt/format.h>

#include "report/explain.h"

namespace shardsim {
namespace {

double bytes(Bytes b) {
  return b / Bytes{1};
}

Json seconds(const std::optional<Seconds>& time) {
  if (!time) return nullptr;
  return *time / Seconds{1};
}

Json numbers(const std::vector<int>& list) {
  return Array(list.begin(), list.end());
}

Json collective(const PricedCollective& c) {
  return Object{{"kind", std::string(to_text(c.what.kind))},
                {"tensor", c.what.tensor},
                {"axes", c.what.axes},
                {"devices", c.devices},
                {"dim", c.what.dim},
                {"to_dim", c.what.to_dim},
                {"before", to_text(c.what.before)},
                {"after", to_text(c.what.after)},
                {"local_before", numbers(c.before)},
                {"local_after", numbers(c.after)},
                {"bytes", bytes(c.what.bytes)},
                {"price_s", seconds(c.price)},
                {"algorithm", c.algorithm},
                {"algorithm_reason", c.choice},
                {"formula", c.formula},
                {"bandwidth_convention", c.convention},
                {"case", c.what.case_text},
                {"reason", c.what.reason},
                {"once_per_step", c.what.once_per_step},
                {"alternatives", c.what.alternatives}};
}

Json collectives(const std::vector<PricedCollective>& list) {
  Array array;
  for (const PricedCollective& c : list) array.push_back(collective(c));
  return array;
}

// Free cuts in the order they are made: before collectives, then the last.
Json all_cuts(const std::vector<PricedCollective>& list, const std::vector<std::string>& last) {
  Array cuts;
  for (const PricedCollective& c : list) {
    if (!c.cut.empty()) cuts.push_back(c.cut);
  }
  cuts.insert(cuts.end(), last.begin(), last.end());
  return cuts;
}

Json array_of(const std::string& name, const Sharding& layout, const std::vector<int>& shape) {
  return Object{{"name", name}, {"layout", to_text(layout)}, {"local_shape", numbers(shape)}};
}

Json step(const ExplainedStep& s) {
  Array cases;
  for (const AxisCase& axis : s.what.cases) {
    cases.push_back(Object{{"axis", axis.axis},
                           {"case", axis.number},
                           {"name", case_name(axis.number)},
                           {"why", axis.why}});
  }
  Array operands;
  for (std::size_t i = 0; i < s.operands.size(); ++i) {
    operands.push_back(array_of(s.what.operand_names[i], s.what.operands[i], s.operands[i]));
  }
  Array plans;  // the one taken first
  for (const PricedPlan& plan : s.what.plans) {
    plans.push_back(Object{
        {"text", plan.text},
        {"communication_s", plan.link_bytes ? Json(nullptr) : seconds(plan.communication)},
        {"busiest_link_bytes", plan.link_bytes ? Json(bytes(*plan.link_bytes)) : Json(nullptr)},
        {"extra_compute_s", plan.extra_compute / Seconds{1}},
        {"flops_per_device", plan.flops / Flops{1}},
        {"bytes", bytes(plan.bytes)},
        {"verdict", plan.verdict}});
  }
  return Object{{"statement", s.statement},
                {"pass", std::string(to_text(s.what.pass))},
                {"text", s.what.text},
                {"cases", std::move(cases)},
                {"operands", std::move(operands)},
                {"out", array_of(s.what.out_name, s.what.out, s.out)},
                {"flops_per_device", s.what.flops / Flops{1}},
                {"memory_traffic_bytes", bytes(s.what.memory_bytes + s.what.beside_bytes)},
                {"compute_s", seconds(s.compute)},
                {"idle_axes", s.what.idle_axes},
                {"padding", s.padding},
                {"cuts", all_cuts(s.before, s.cuts)},
                {"cuts_after", all_cuts(s.after, s.cuts_after)},
                {"plans", std::move(plans)},
                {"before", collectives(s.before)},
                {"after", collectives(s.after)}};
}

Json layout(const LayoutRow& row) {
  std::vector<std::string> used;
  for (const Sharding& sharding : row.used) used.push_back(to_text(sharding));
  return Object{{"tensor", row.tensor},
                {"role", row.role},
                {"stored", to_text(row.stored)},
                {"used", used},
                {"gradient", to_text(row.gradient)},
                {"optimizer", row.optimizer ? Json(to_text(*row.optimizer)) : Json(nullptr)},
                {"stored_bytes_per_device", bytes(row.bytes)}};
}

Json array(const ExplainedArray& a) {
  Array dims;
  for (const DimCut& cut : a.dims) {
    dims.push_back(Object{{"dim", cut.dim},
                          {"axes", cut.axes},
                          {"size", cut.size},
                          {"blocks", cut.shards},
                          {"local_size", cut.local},
                          {"padding", cut.padding}});
  }
  Array rows;
  for (const DeviceBlock& row : a.rows) {
    std::vector<int> from, size;
    for (const DimPart& part : row.part) {
      from.push_back(part.from);
      size.push_back(part.size);
    }
    rows.push_back(Object{{"device", row.device},
                          {"coordinates", numbers(row.at)},
                          {"block", row.id},
                          {"block_per_dim", numbers(row.block)},
                          {"first_row_per_dim", numbers(from)},
                          {"rows_per_dim", numbers(size)}});
  }
  return Object{{"array", a.text},
                {"dtype", a.dtype},
                {"dims", std::move(dims)},
                {"unreduced", a.layout.unreduced},
                {"bytes_array", bytes(a.whole)},
                {"bytes_per_device", bytes(a.per_device)},
                {"bytes_over_mesh", bytes(a.over_mesh)},
                {"devices", a.devices},
                {"blocks", a.blocks},
                {"copies", a.copies},
                {"mesh_axes", a.mesh_axes},
                {"device_order", a.order},
                {"devices_listed", static_cast<std::int64_t>(a.rows.size())},
                {"blocks_of_devices", std::move(rows)}};
}

Json move(const Move& m) {
  return Object{{"before", to_text(m.before)},
                {"after", to_text(m.after)},
                {"local_before", numbers(m.before_shape)},
                {"local_after", numbers(m.after_shape)},
                {"bytes_before_per_device", bytes(m.before_bytes)},
                {"bytes_after_per_device", bytes(m.after_bytes)},
                {"collective", m.collective ? collective(*m.collective) : Json(nullptr)}};
}

template <class Row>
Json list(const std::vector<Row>& rows, Json (*one)(const Row&)) {
  Array result;
  for (const Row& row : rows) result.push_back(one(row));
  return result;
}

}  // namespace

Json explanation_json(const Explanation& e) {
  Object facts;
  for (const auto& [label, text] : e.facts) facts.emplace_back(label, text);
  Object result = {{"schema", "shardsim-explain-1"},
                   {"form", e.form},
                   {"title", e.title},
                   {"facts", std::move(facts)}};
  if (e.form == "file") result.emplace_back("layouts", list(e.layouts, layout));
  if (e.form == "file" || e.form == "statement") result.emplace_back("steps", list(e.steps, step));
  if (e.array) result.emplace_back("array", array(*e.array));
  if (e.form == "reshard") {
    result.emplace_back("moves", list(e.moves, move));
    result.emplace_back("alternatives", e.alternatives);
  }
  result.emplace_back("notes", e.notes);
  return result;
}

}  // namespace shardsim
