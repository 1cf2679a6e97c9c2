#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/reports.h"

namespace shardsim {
namespace {

constexpr int kWidth = 100;
constexpr std::size_t kMostRows = 32;  // devices in a table

std::string entry(std::string_view label, std::string_view text) {
  return fmt::format("    {:<9} {}\n", label, wrapped(text, kWidth, 14));
}

std::string detail(std::string_view label, std::string_view text) {
  return fmt::format("              {:<9} {}\n", label, wrapped(text, kWidth, 24));
}

std::string fact(std::string_view label, std::string_view text) {
  return fmt::format("  {:<12} {}\n", label, wrapped(text, kWidth, 15));
}

std::string shape_text(const std::vector<int>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// "2 MiB (2097152 bytes)": the second is exact.
std::string exact_text(Bytes bytes) {
  return fmt::format("{} ({:.0f} bytes)", to_text(bytes), bytes / Bytes{1});
}

std::string on_axes(const std::vector<std::string>& axes) {
  return fmt::format("{}", fmt::join(axes, ", "));
}

std::string collective_text(const ShardedCollective& c) {
  std::string where;
  if (c.kind == Collective::all_to_all) where = fmt::format(" from {} to {}", c.dim, c.to_dim);
  if (c.kind == Collective::all_gather && !c.dim.empty()) where = " on " + c.dim;
  if (c.kind == Collective::reduce_scatter && !c.dim.empty()) where = " into " + c.dim;
  return fmt::format("{} of {} over {}{}: {} -> {}", to_text(c.kind), c.tensor, on_axes(c.axes),
                     where, to_text(c.before), to_text(c.after));
}

std::string price_lines(const PricedCollective& c) {
  std::string text =
      detail("V", fmt::format("{}: {}", exact_text(c.what.bytes), meaning_of_v(c.what.kind)));
  text += detail("local", fmt::format("{} -> {}, groups of {} devices", shape_text(c.before),
                                      shape_text(c.after), c.devices));
  if (c.price) {
    text += detail("price", fmt::format("{} = {}", to_text(*c.price), c.formula));
  }
  if (!c.choice.empty()) text += detail("algorithm", c.choice);
  return text;
}

std::string cut_line(const std::string& cut) {
  return entry("cut", cut + ", free: every device keeps a part of what it has");
}

std::string collective_lines(std::string_view label, const PricedCollective& c) {
  std::string text = c.cut.empty() ? "" : cut_line(c.cut);
  text += entry(label, collective_text(c.what));
  const bool named = !c.what.case_text.empty();
  text += detail("why", fmt::format("{}{}{}", c.what.case_text, named ? ": " : "", c.what.reason));
  text += price_lines(c);
  if (c.what.once_per_step) text += detail("when", "once per step, after the last micro-batch");
  for (const std::string& other : c.what.alternatives) text += detail("not taken", other);
  return text;
}

std::string compute_lines(const ExplainedStep& step) {
  std::vector<std::string> names;
  std::vector<std::string> shapes;
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    names.push_back(step.what.operand_names[i] + to_text(step.what.operands[i]));
    shapes.push_back(shape_text(step.operands[i]));
  }
  const std::string out = step.what.out_name + to_text(step.what.out);
  std::string text = entry("compute", fmt::format("{} from {}", out, fmt::join(names, ", ")));
  text += detail("local", fmt::format("{} from {}", shape_text(step.out), fmt::join(shapes, ", ")));
  if (step.what.flops == Flops{} && step.what.memory_bytes == Bytes{}) {
    return text + detail("work", step.what.kind == StatementKind::reshape
                                     ? "none: the elements of a block lie as before"
                                     : "none: the gradient is passed on");
  }
  std::string work = fmt::format("{}, {} of memory traffic per device", to_text(step.what.flops),
                                 to_text(step.what.memory_bytes + step.what.beside_bytes));
  if (step.compute) {
    work += fmt::format(": {}, bound by {}", to_text(*step.compute),
                        step.memory_bound ? "memory" : "FLOPs");
  }
  return text + detail("work", work);
}

// Of several collectives that happen equally often.
std::string total_line(const ExplainedStep& step) {
  std::vector<PricedCollective> all = step.before;
  all.insert(all.end(), step.after.begin(), step.after.end());
  if (all.size() < 2) return "";
  Seconds sum;
  for (const PricedCollective& c : all) {
    if (!c.price || c.what.once_per_step != all[0].what.once_per_step) return "";
    sum += *c.price;
  }
  return entry("together",
               fmt::format("{} for {} collectives, one after the other", to_text(sum), all.size()));
}

std::string step_text(const ExplainedStep& step) {
  std::string text =
      fmt::format("\n{:>2}. {}\n", step.statement, wrapped(step.what.text, kWidth, 4));
  std::string_view label = "cases";
  for (const AxisCase& axis : step.what.cases) {
    text += entry(label, fmt::format("{}, {}: {}", axis.axis, case_name(axis.number), axis.why));
    label = "";
  }
  for (const PricedCollective& c : step.before) text += collective_lines("before", c);
  for (const std::string& cut : step.cuts) text += cut_line(cut);
  text += compute_lines(step);
  for (const PricedCollective& c : step.after) text += collective_lines("after", c);
  for (const std::string& cut : step.cuts_after) text += cut_line(cut);
  text += total_line(step);
  if (!step.what.idle_axes.empty()) {
    text += entry("idle", fmt::format("over {} the devices repeat the same work",
                                      on_axes(step.what.idle_axes)));
  }
  for (const std::string& padding : step.padding) text += entry("padding", padding);
  return text;
}

std::string steps_text(const std::vector<ExplainedStep>& steps) {
  std::string text;
  const ExplainedStep* before = nullptr;
  for (const ExplainedStep& step : steps) {
    if (before == nullptr || before->what.pass != step.what.pass) {
      text += fmt::format("\n{} pass\n", to_text(step.what.pass));
    }
    text += step_text(step);
    before = &step;
  }
  return text;
}

std::size_t widest(const std::string& text) {
  std::size_t width = 0, from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    width = std::max(width, end - from);
    from = end + 1;
  }
  return width;
}

std::string layouts_text(const std::vector<LayoutRow>& layouts) {
  if (layouts.empty()) return "";
  Rows rows = {{"tensor", "role", "stored", "used", "gradient", "optimizer", "on a device"}};
  std::string stacked;
  for (const LayoutRow& row : layouts) {
    std::vector<std::string> used;
    for (const Sharding& layout : row.used) used.push_back(to_text(layout));
    const std::string uses = used.empty() ? "-" : fmt::format("{}", fmt::join(used, " "));
    const std::string optimizer = row.optimizer ? to_text(*row.optimizer) : "-";
    rows.push_back({row.tensor, row.role, to_text(row.stored), uses, to_text(row.gradient),
                    optimizer, to_text(row.bytes)});
    stacked += fmt::format("{} ({}), {} on a device\n", row.tensor, row.role, to_text(row.bytes));
    stacked += entry("stored", to_text(row.stored)) + entry("used", uses) +
               entry("gradient", to_text(row.gradient));
    if (row.optimizer) stacked += entry("optimizer", optimizer);
  }
  const std::string table = rows_text(rows);
  return "\nlayouts\n" + (widest(table) <= kWidth ? table : stacked);
}

std::string counted(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string dim_text(const DimCut& cut) {
  if (cut.axes.empty()) return fmt::format("{} ({}): not cut", cut.dim, cut.size);
  const bool several = cut.axes.size() > 1;
  std::string text = fmt::format("{} ({}): cut over {}{} into {} of {}", cut.dim, cut.size,
                                 fmt::join(cut.axes, ", then "), several ? " (major first)" : "",
                                 counted(cut.shards, "block"), cut.local);
  if (cut.padding > 0) text += fmt::format(", padded by {} in all", cut.padding);
  return text;
}

std::string copies_text(const ExplainedArray& array) {
  std::string text = fmt::format("{}, {}: each is on {}", counted(array.devices, "device"),
                                 counted(array.blocks, "block"), counted(array.copies, "device"));
  if (array.copies > 1) {
    text += fmt::format(", the copies lie along {}", on_axes(array.copy_axes));
  }
  if (!array.layout.unreduced.empty()) {
    text += fmt::format("; along {} lie partial sums of it", on_axes(array.layout.unreduced));
  }
  return text;
}

std::string range_text(const std::string& dim, const DimPart& part) {
  if (part.size == 0) return dim + " nothing (padding)";
  return fmt::format("{} {}..{}", dim, part.from, part.from + part.size - 1);
}

std::string blocks_text(const ExplainedArray& array) {
  Rows rows = {{"device"}};
  rows[0].insert(rows[0].end(), array.mesh_axes.begin(), array.mesh_axes.end());
  rows[0].push_back("block");
  rows[0].push_back("indices");
  const std::size_t shown = std::min(array.rows.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const DeviceBlock& row = array.rows[i];
    std::vector<std::string> cells = {fmt::format("{}", row.device)};
    for (const int at : row.at) cells.push_back(fmt::format("{}", at));
    cells.push_back(fmt::format("{}", row.id));
    std::vector<std::string> ranges;
    for (std::size_t d = 0; d < array.dims.size(); ++d) {
      ranges.push_back(range_text(array.dims[d].dim, row.part[d]));
    }
    cells.push_back(fmt::format("{}", fmt::join(ranges, ", ")));
    rows.push_back(std::move(cells));
  }
  std::string text = "\n" + rows_text(rows);
  const std::size_t left = static_cast<std::size_t>(array.devices) - shown;
  if (left > 0) text += fmt::format("… and {} more devices\n", left);
  return text;
}

std::string array_text(const ExplainedArray& array) {
  std::vector<int> local;
  std::string_view label = "1 cuts";
  std::string text = "\n";
  for (const DimCut& cut : array.dims) {
    text += fact(label, dim_text(cut));
    label = "";
    local.push_back(cut.local);
  }
  const bool row_major = array.order == "row-major";
  text += fact("2 devices", copies_text(array));
  text += fact("3 local", shape_text(local) + " on every device");
  text += fact("4 bytes", fmt::format("{} the array, once", exact_text(array.whole)));
  text += fact("", fmt::format("{} per device", exact_text(array.per_device)));
  text +=
      fact("", fmt::format("{} over all {} devices", exact_text(array.over_mesh), array.devices));
  text += blocks_text(array);
  const std::string major = array.mesh_axes.empty() ? ""
                            : row_major             ? array.mesh_axes.front()
                                                    : array.mesh_axes.back();
  return text + "\n" +
         wrapped(fmt::format("devices are numbered {}: mesh axis {} is major ({}); blocks are "
                             "numbered with the first dim major",
                             array.order, major,
                             row_major ? "as in a JAX mesh; --device-order innermost-first is the "
                                         "other picture"
                                       : "the other picture; a JAX mesh is row-major"),
                 kWidth, 0) +
         "\n";
}

std::string moves_text(const Explanation& e) {
  if (e.form != "reshard") return "";
  if (e.moves.empty()) return "\nnothing to do: both layouts are the same\n";
  std::string text;
  Seconds sum;
  bool known = true;
  for (std::size_t i = 0; i < e.moves.size(); ++i) {
    const Move& move = e.moves[i];
    text += fmt::format("\n{:>2}. ", i + 1);
    if (move.collective) {
      const PricedCollective& c = *move.collective;
      text += wrapped(collective_text(c.what), kWidth, 4) + "\n" + detail("why", c.what.reason) +
              price_lines(c);
      known = known && c.price.has_value();
      if (c.price) sum += *c.price;
    } else {
      const bool cuts = move.before_shape != move.after_shape;
      text += fmt::format("{}: {} -> {}\n", cuts ? "cut" : "nothing", to_text(move.before),
                          to_text(move.after));
      text += detail("why", cuts ? "free: every device keeps a part of what it has"
                                 : "free: an axis of one device cuts nothing");
      text += detail("local", fmt::format("{} -> {}", shape_text(move.before_shape),
                                          shape_text(move.after_shape)));
    }
    text += detail("memory", fmt::format("{} -> {} on a device", to_text(move.before_bytes),
                                         to_text(move.after_bytes)));
  }
  if (known) text += fmt::format("\ntogether {}\n", to_text(sum));
  for (const std::string& other : e.alternatives) text += entry("not taken", other);
  return text;
}

// What the letters of the prices stand for: one line for each group of axes.
std::vector<std::string> price_notes(const Explanation& e) {
  std::vector<std::string> notes;
  const auto note = [&](const PricedCollective& c) {
    if (!c.price) return;
    if (notes.empty()) {
      notes.emplace_back(
          "in a price, N is the devices of the group, V bytes, W1 the bandwidth of "
          "one link in one direction, a the latency of a hop");
    }
    std::string line = fmt::format("over {}: {}", on_axes(c.what.axes), c.convention);
    if (std::find(notes.begin(), notes.end(), line) == notes.end())
      notes.push_back(std::move(line));
  };
  for (const ExplainedStep& step : e.steps) {
    for (const PricedCollective& c : step.before) note(c);
    for (const PricedCollective& c : step.after) note(c);
  }
  for (const Move& move : e.moves) {
    if (move.collective) note(*move.collective);
  }
  return notes;
}

}  // namespace

std::string explanation_text(const Explanation& explanation) {
  std::string text = explanation.title + "\n";
  for (const auto& [label, what] : explanation.facts) text += fact(label, what);
  text += layouts_text(explanation.layouts);
  if (explanation.array) text += array_text(*explanation.array);
  text += steps_text(explanation.steps) + moves_text(explanation);
  std::vector<std::string> notes = explanation.notes;
  const std::vector<std::string> prices = price_notes(explanation);
  notes.insert(notes.end(), prices.begin(), prices.end());
  if (notes.empty()) return text;
  text += "\nnotes\n";
  for (const std::string& note : notes) text += "  - " + wrapped(note, kWidth, 4) + "\n";
  return text;
}

}  // namespace shardsim
