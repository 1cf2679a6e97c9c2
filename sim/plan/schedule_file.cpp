#include "plan/schedule_file.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/file.h"
#include "base/text.h"
#include "ir/schedule_parser.h"
#include "plan/lower_schedule.h"
#include "spec/fields.h"
#include "spec/library.h"

namespace shardsim {

namespace {

constexpr std::size_t kLargestText = std::size_t{64} << 20;  // bytes
constexpr char kComment = '#';                               // to the end of the line
constexpr std::string_view kPlacementKey = "placement";
constexpr std::string_view kOrdersKey = "orders";

// What a file holds, in either form.
struct Lists {
  std::vector<RankText> ranks;
  std::optional<Placement> placement;
};

void take_placement(std::string_view text, const SourcePos& pos, Lists& lists,
                    std::vector<Problem>& problems) {
  std::vector<std::string> names;
  for (const Placement placement : placements()) {
    names.emplace_back(to_text(placement));
    if (text == to_text(placement)) lists.placement = placement;
  }
  if (!lists.placement || text.empty()) {
    problems.push_back(
        {pos, "expected a placement, found " + in_quotes(text), suggestion(text, names)});
  }
}

// The lists point into the text of `source`, which positions keep alive.
Lists lists_of_text(const std::shared_ptr<const Source>& source, std::vector<Problem>& problems) {
  Lists lists;
  const std::string_view text = source->text;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::string_view content = trimmed(line.substr(0, line.find(kComment)));
    at = end + 1;
    ++number;
    if (content.empty()) continue;
    const int column = static_cast<int>(content.data() - line.data()) + 1;
    const SourcePos pos{source, number, column, static_cast<int>(content.size())};
    if (content.starts_with(kPlacementKey)) {
      const std::size_t colon = content.find(':');
      const std::string_view value =
          colon == content.npos ? std::string_view{} : trimmed(content.substr(colon + 1));
      take_placement(value, pos, lists, problems);
      continue;
    }
    lists.ranks.push_back({pos, content});
  }
  return lists;
}

Lists lists_of_yaml(const Node& root, std::vector<Problem>& problems) {
  Lists lists;
  if (root.kind != NodeKind::map || root.find(kOrdersKey) == nullptr) {
    problems.push_back({root.pos,
                        fmt::format("expected a map with {}, found {}", kOrdersKey,
                                    root.kind == NodeKind::map ? "none" : found(root)),
                        "a list with the cells of one rank in each line"});
    return lists;
  }
  const std::vector<std::string> keys = {std::string(kOrdersKey), std::string(kPlacementKey)};
  for (const NodeEntry& entry : root.entries) {
    if (entry.key == kPlacementKey) {
      take_placement(entry.node.text, entry.node.pos, lists, problems);
    } else if (entry.key != kOrdersKey) {
      problems.push_back({entry.key_pos,
                          fmt::format("unknown key {} in a schedule", in_quotes(entry.key)),
                          suggestion(entry.key, keys)});
    } else if (entry.node.kind != NodeKind::list) {
      problems.push_back(
          {entry.node.pos, "expected a list of orders, found " + found(entry.node), ""});
    } else {
      for (const NodeEntry& rank : entry.node.entries) {
        if (rank.node.kind == NodeKind::scalar) {
          SourcePos pos = rank.node.pos;
          if (rank.node.quoted) pos = pos.at(1, pos.length);
          lists.ranks.push_back({pos, rank.node.text});
        } else {
          problems.push_back(
              {rank.node.pos,
               "expected the cells of a rank, such as F0.0 B0.0, found " + found(rank.node), ""});
        }
      }
    }
  }
  return lists;
}

void find_deadlock(const ParsedSchedule& parsed, P2pMode mode, std::vector<Problem>& problems) {
  const auto found = deadlock(lower_schedule(parsed.schedule, {}, mode));
  if (!found) return;
  const CellIndex index = index_cells(parsed.schedule);
  const std::uint32_t rank = index.rank[found->cell];
  problems.push_back({parsed.positions[rank][found->cell - index.first[rank]],
                      "expected an order that can run, found a deadlock: " + found->path, ""});
}

}  // namespace

Schedule read_schedule_file(const std::string& path, std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  Lists lists;
  Node root;  // its texts must outlive the parsing
  std::shared_ptr<const Source> source;
  if (path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json")) {
    root = open_yaml(path, SourcePos{}, problems);
    if (problems.size() == before) lists = lists_of_yaml(root, problems);
  } else {
    source = open_source(path, SourcePos{}, kLargestText, problems);
    if (source == nullptr) return {};
    lists = lists_of_text(source, problems);
    if (lists.ranks.empty() && problems.size() == before) {
      SourcePos whole;
      whole.source = source;
      problems.push_back({whole, "expected a line of cells for every rank, found none", ""});
    }
  }
  if (problems.size() != before) return {};
  ParsedSchedule parsed =
      parse_schedule(lists.ranks, lists.placement ? &*lists.placement : nullptr, problems);
  if (problems.size() == before) find_deadlock(parsed, P2pMode::async, problems);
  if (problems.size() == before && parsed.schedule.has_groups())
    find_deadlock(parsed, P2pMode::blocking, problems);
  parsed.schedule.name = "file:" + path;
  return std::move(parsed.schedule);
}

std::string schedule_file_text(const Schedule& schedule) {
  std::string text = fmt::format(
      "# {}: {}, {}, {}\n{}: {}\n", schedule.name, counted(schedule.ranks(), "rank", "ranks"),
      counted(schedule.microbatches, "micro-batch", "micro-batches"),
      counted(schedule.stages(), "stage", "stages"), kPlacementKey, to_text(schedule.placement));
  for (const RankProgram& program : schedule.programs) text += program_text(program) + "\n";
  return text;
}

}  // namespace shardsim
