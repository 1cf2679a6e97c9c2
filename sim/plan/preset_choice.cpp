#include "plan/preset_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace shardsim {
namespace {

using Actives = std::vector<ActivePreset>;

struct Chooser {
  const Mesh& mesh;
  std::vector<Problem>& problems;
  std::vector<std::pair<std::string, std::string>> taken;  // axis, preset that uses it
};

void report(Chooser& c, const SourcePos& pos, std::string message, std::string hint = "") {
  c.problems.push_back({pos, std::move(message), std::move(hint)});
}

// Adds one axis to those of a preset, unless something is wrong with it.
void take_axis(Chooser& c, const Chosen<std::string>& axis, ActivePreset& active) {
  const SourcePos& pos = axis.pos.source ? axis.pos : active.spec->pos;
  const std::string& name = active.spec->preset;
  const std::vector<std::string> axes = c.mesh.resolve(axis.value);
  if (axes.empty()) {
    report(c, pos, fmt::format("mesh axis \"{}\" of {} is not in the mesh", axis.value, name),
           suggestion(axis.value, c.mesh.names()));
    return;
  }
  const auto used = std::find_if(c.taken.begin(), c.taken.end(),
                                 [&](const auto& entry) { return entry.first == axis.value; });
  if (used != c.taken.end()) {
    report(c, pos,
           fmt::format("mesh axis {} is used by {} and by {}", axis.value, used->second, name),
           "give each its own mesh axis");
    return;
  }
  c.taken.emplace_back(axis.value, name);
  active.axes.insert(active.axes.end(), axes.begin(), axes.end());
}

// One axis for each part of the row, what is left for the last.
Actives take_parts(Chooser& c, const PresetRow& row, const PresetSpec& spec) {
  if (spec.axes.size() < row.parts.size()) {
    report(c, spec.pos,
           fmt::format("{} needs {} mesh axes or more, found {}: one each for {}", spec.preset,
                       row.parts.size(), spec.axes.size(), fmt::join(row.parts, " and ")),
           fmt::format("write {}: [X, Y]", spec.preset));
    return {};
  }
  Actives result;
  for (std::size_t part = 0; part < row.parts.size(); ++part) {
    ActivePreset active{find_preset(row.parts[part]), &spec, {}};
    const std::size_t last = part + 1 == row.parts.size() ? spec.axes.size() : part + 1;
    for (std::size_t i = part; i < last; ++i) take_axis(c, spec.axes[i], active);
    result.push_back(std::move(active));
  }
  return result;
}

Actives take_axes(Chooser& c, const PresetRow& row, const PresetSpec& spec) {
  if (spec.axes.empty()) {
    const std::string list = fmt::format("{}: [X, Y]", spec.preset);
    report(c, spec.pos, fmt::format("{} needs the mesh axes it cuts over", spec.preset),
           row.parts.empty() ? fmt::format("write {}: X or {}", spec.preset, list)
                             : fmt::format("write {}", list));
    return {};
  }
  if (!row.parts.empty()) return take_parts(c, row, spec);
  ActivePreset active{&row, &spec, {}};
  for (const Chosen<std::string>& axis : spec.axes) take_axis(c, axis, active);
  return {std::move(active)};
}

bool names_row(const PresetSpec& spec, std::string_view name) {
  const PresetRow* row = find_preset(spec.preset);
  if (row == nullptr) return false;
  return row->name == name ||
         std::find(row->parts.begin(), row->parts.end(), name) != row->parts.end();
}

void refuse_missing(Chooser& c, const PresetRow& row, const PresetSpec& spec) {
  std::vector<std::string> needs(row.needs.begin(), row.needs.end());
  const PresetRow* first = find_preset(needs.front());
  report(c, spec.pos,
         fmt::format("{} needs {}: it {} the same mesh axes", spec.preset, joined_or(needs),
                     row.where.empty() ? "speaks about" : "cuts over"),
         fmt::format("add {}: {}, or drop {}", needs.front(),
                     first->argument == PresetArgument::flag ? "true" : "AXIS", spec.preset));
}

// A flag takes the axes of the rows it belongs to, which are active already.
Actives take_flag(Chooser& c, const PresetRow& row, const PresetSpec& spec,
                  std::span<const PresetSpec> chosen, std::span<const Actives> active) {
  if (!spec.axes.empty()) {
    report(c, spec.pos,
           fmt::format("{} is true or false and uses the axes of {}", spec.preset,
                       joined_or(std::vector<std::string>(row.needs.begin(), row.needs.end()))));
    return {};
  }
  if (!spec.flag.value) return {};
  ActivePreset result{&row, &spec, {}};
  bool present = false;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (const std::string_view need : row.needs) {
      const bool given = chosen[i].flag.value || !chosen[i].axes.empty();
      present = present || (given && names_row(chosen[i], need));
      for (const ActivePreset& owner : active[i]) {
        if (owner.row->name != need) continue;
        result.axes.insert(result.axes.end(), owner.axes.begin(), owner.axes.end());
      }
    }
  }
  if (!present) refuse_missing(c, row, spec);
  return {std::move(result)};
}

std::string name_hint(const std::string& name) {
  const std::string close = nearest(name, preset_names());
  if (!close.empty()) return fmt::format("did you mean \"{}\"?", close);
  std::vector<std::string> names;
  for (const PresetRow& row : presets()) names.emplace_back(row.name);
  return suggestion(name, names);
}

}  // namespace

std::vector<ActivePreset> activate(std::span<const PresetSpec> chosen, const Mesh& mesh,
                                   std::vector<Problem>& problems) {
  Chooser c{mesh, problems, {}};
  std::vector<Actives> active(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const PresetRow* row = find_preset(chosen[i].preset);
    if (row == nullptr) {
      report(c, chosen[i].pos, fmt::format("unknown sharding preset \"{}\"", chosen[i].preset),
             name_hint(chosen[i].preset));
    } else if (row->argument == PresetArgument::axes) {
      active[i] = take_axes(c, *row, chosen[i]);
    }
  }
  // In the table's order: a flag comes after the rows it needs.
  for (const PresetRow& row : presets()) {
    if (row.argument != PresetArgument::flag) continue;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (find_preset(chosen[i].preset) != &row) continue;
      active[i] = take_flag(c, row, chosen[i], chosen, active);
    }
  }
  // Flags last: what they cut further are blocks of the rows that take axes.
  std::vector<ActivePreset> result, flags;
  for (Actives& some : active) {
    for (ActivePreset& one : some)
      (one.row->argument == PresetArgument::flag ? flags : result).push_back(std::move(one));
  }
  std::move(flags.begin(), flags.end(), std::back_inserter(result));
  return result;
}

}  // namespace shardsim
