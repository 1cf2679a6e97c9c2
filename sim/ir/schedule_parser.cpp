#include "ir/schedule_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/text.h"

namespace shardsim {

namespace {

constexpr int kLargest = 1'000'000;  // of a micro-batch, stage or rank number

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Reads one token from its start; `at` stands on what was not understood.
struct Reader {
  std::string_view token;
  std::size_t at = 0;

  bool done() const { return at == token.size(); }
  bool take(char c) {
    if (done() || token[at] != c) return false;
    ++at;
    return true;
  }
  std::optional<int> number() {
    int value = 0;
    const char* const begin = token.data() + at;
    const auto [end, error] = std::from_chars(begin, token.data() + token.size(), value);
    const bool padded = end - begin > 1 && *begin == '0';
    if (error != std::errc{} || *begin == '-' || padded || value > kLargest) return std::nullopt;
    at += static_cast<std::size_t>(end - begin);
    return value;
  }
};

std::optional<Work> read_work(Reader& reader) {
  constexpr std::string_view kLetters = "FBIW";
  const std::size_t kind = reader.done() ? kLetters.npos : kLetters.find(reader.token[reader.at]);
  if (kind == kLetters.npos) return std::nullopt;
  ++reader.at;
  const std::optional<int> microbatch = reader.number();
  if (!microbatch || !reader.take('.')) return std::nullopt;
  const std::optional<int> stage = reader.number();
  if (!stage) return std::nullopt;
  return Work{static_cast<WorkKind>(kind), *microbatch, *stage};
}

std::optional<Cell> read_cell(Reader& reader) {
  const std::optional<Work> first = read_work(reader);
  if (!first) return std::nullopt;
  if (reader.done()) return Cell{{*first, {}}, 1};
  if (first->kind != WorkKind::forward || !reader.take('&')) return std::nullopt;
  const std::size_t second_at = reader.at;
  const std::optional<Work> second = read_work(reader);
  if (!second || !reader.done()) return std::nullopt;
  if (second->kind != WorkKind::backward) {
    reader.at = second_at;
    return std::nullopt;
  }
  return overlapped_cell(*first, *second);
}

std::optional<P2pGroup> read_group(Reader& reader, std::size_t before) {
  P2pGroup group{.before = static_cast<std::uint32_t>(before), .transfers = {}};
  if (!reader.take('[')) return std::nullopt;
  do {
    P2p p2p;
    p2p.send = reader.take('>');
    if (!p2p.send && !reader.take('<')) return std::nullopt;
    const std::optional<int> peer = reader.number();
    if (!peer || reader.done() || reader.token[reader.at] < 'a' || reader.token[reader.at] > 'z')
      return std::nullopt;
    p2p.peer = *peer;
    p2p.channel = reader.token[reader.at++];
    group.transfers.push_back(p2p);
  } while (reader.take(','));
  if (!reader.take(']') || !reader.done()) return std::nullopt;
  return group;
}

struct ParsedRank {
  RankProgram program;
  std::vector<SourcePos> positions;  // [cells]
};

ParsedRank parse_rank(const RankText& rank, std::vector<Problem>& problems) {
  ParsedRank parsed;
  for (std::size_t at = 0; at < rank.text.size();) {
    if (is_blank(rank.text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < rank.text.size() && !is_blank(rank.text[end])) ++end;
    const SourcePos pos = rank.pos.at(static_cast<int>(at), static_cast<int>(end - at));
    Reader reader{rank.text.substr(at, end - at)};
    at = end;
    if (reader.token.front() == '[') {
      if (auto group = read_group(reader, parsed.program.cells.size())) {
        parsed.program.groups.push_back(std::move(*group));
        continue;
      }
      problems.push_back(
          {pos, "expected a group of transfers such as [>1f,<1b], found " + in_quotes(reader.token),
           "> sends to a rank, < receives from it, on a channel named by a letter"});
      continue;
    }
    if (const auto one = read_cell(reader)) {
      parsed.program.cells.push_back(*one);
      parsed.positions.push_back(pos);
      continue;
    }
    problems.push_back({pos,
                        "expected a cell such as F3.1, B3.1, I3.1, W3.1 or F5.1&B3.1, found " +
                            in_quotes(reader.token),
                        "a letter, the micro-batch, a dot, the stage; both count from 0"});
  }
  return parsed;
}

// One more than the largest number; a problem if there is a gap below it.
int count_of(const char* what, const ParsedSchedule& parsed, int (*number)(const Work&),
             std::vector<Problem>& problems) {
  std::set<int> used;
  int most = -1;
  const SourcePos* at_most = nullptr;
  for (std::size_t rank = 0; rank < parsed.positions.size(); ++rank) {
    const std::vector<Cell>& cells = parsed.schedule.programs[rank].cells;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      for (const Work& work : cells[i].works()) {
        used.insert(number(work));
        if (number(work) <= most) continue;
        most = number(work);
        at_most = &parsed.positions[rank][i];
      }
    }
  }
  int next = 0;
  for (const int one : used) next += one == next ? 1 : 0;
  if (at_most != nullptr && next <= most) {
    problems.push_back({*at_most,
                        fmt::format("expected {} numbered from 0 without gaps, found {} but no {}",
                                    what, most, next),
                        ""});
  }
  return most + 1;
}

// The placements under which p ranks hold these stages.
std::vector<Placement> fitting(int ranks, int stages) {
  if (stages == ranks) return {Placement::linear, Placement::dual};
  if (stages == 2 * ranks) return {Placement::v, Placement::wrap};
  if (stages % ranks == 0) return {Placement::wrap};
  return {};
}

// How many works do not stand where the placement puts them.
int misplaced(Schedule schedule, Placement placement) {
  schedule.placement = placement;
  int wrong = 0;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (const Cell& one : schedule.programs[static_cast<std::size_t>(rank)].cells) {
      for (const Work& work : one.works())
        wrong += schedule.rank_of(work.microbatch, work.stage) == rank ? 0 : 1;
    }
  }
  return wrong;
}

// Sets chunks and placement.
void place(Schedule& schedule, int stages, const Placement* wanted, const SourcePos& pos,
           std::vector<Problem>& problems) {
  std::vector<Placement> may = fitting(schedule.ranks(), stages);
  if (wanted != nullptr && *wanted == Placement::wrap && stages == schedule.ranks())
    may.push_back(Placement::wrap);
  if (may.empty()) {
    problems.push_back({pos,
                        fmt::format("expected a multiple of {} stages on {} ranks, found {}",
                                    schedule.ranks(), schedule.ranks(), stages),
                        "every rank has one line, and as many stages as the others"});
    return;
  }
  schedule.chunks = stages / schedule.ranks();
  if (wanted == nullptr) {
    schedule.placement = *std::min_element(may.begin(), may.end(), [&](Placement a, Placement b) {
      return misplaced(schedule, a) < misplaced(schedule, b);
    });
    return;
  }
  schedule.placement = *wanted;
  if (std::find(may.begin(), may.end(), *wanted) != may.end()) return;
  problems.push_back({pos,
                      fmt::format("expected a placement for {} stages on {} ranks, found {}",
                                  stages, schedule.ranks(), to_text(*wanted)),
                      fmt::format("{} would do", to_text(may.front()))});
}

void add_faults(const ParsedSchedule& parsed, const std::vector<RankText>& ranks,
                std::vector<Problem>& problems) {
  for (const ScheduleFault& fault : check(parsed.schedule)) {
    const auto rank = static_cast<std::size_t>(fault.rank);
    const SourcePos pos = fault.cell < 0
                              ? ranks[rank].pos
                              : parsed.positions[rank][static_cast<std::size_t>(fault.cell)];
    problems.push_back({pos, fault.message, fault.hint});
  }
}

}  // namespace

ParsedSchedule parse_schedule(const std::vector<RankText>& ranks, const Placement* wanted,
                              std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  ParsedSchedule parsed;
  std::size_t works = 0;
  for (const RankText& rank : ranks) {
    ParsedRank one = parse_rank(rank, problems);
    for (const Cell& cell : one.program.cells) works += cell.count;
    parsed.schedule.programs.push_back(std::move(one.program));
    parsed.positions.push_back(std::move(one.positions));
  }
  if (problems.size() != before) return parsed;
  const SourcePos pos = ranks.empty() ? SourcePos{} : ranks.front().pos;
  if (works == 0) {
    problems.push_back({pos, "expected a line of cells for every rank, found none", ""});
    return parsed;
  }
  Schedule& schedule = parsed.schedule;
  schedule.microbatches = count_of(
      "micro-batches", parsed, [](const Work& work) { return work.microbatch; }, problems);
  const int stages = count_of(
      "stages", parsed, [](const Work& work) { return work.stage; }, problems);
  if (problems.size() == before) place(schedule, stages, wanted, pos, problems);
  if (problems.size() != before) return parsed;
  const double needed = 2.0 * schedule.microbatches * stages;
  if (needed > 4.0 * static_cast<double>(works)) {
    problems.push_back({pos,
                        fmt::format("expected F and B of {} micro-batches on {} stages, {:.0f} "
                                    "works, found {}",
                                    schedule.microbatches, stages, needed, works),
                        ""});
    return parsed;
  }
  add_faults(parsed, ranks, problems);
  return parsed;
}

}  // namespace shardsim
