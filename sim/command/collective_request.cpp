#include "command/collective_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/problem.h"
#include "command/arguments.h"
#include "command/network.h"
#include "command/sweep_bytes.h"
#include "plan/clusters.h"
#include "plan/placement.h"
#include "plan/twins.h"

namespace shardsim {

namespace {

Collective kind_named(const char* option, const std::string& name, std::vector<Problem>& problems) {
  std::vector<std::string> names;
  for (const Collective kind : collective_kinds()) {
    if (to_text(kind) == name) return kind;
    names.emplace_back(to_text(kind));
  }
  problems.push_back({argument_pos(option, name),
                      fmt::format("expected a collective, found \"{}\"", name),
                      suggestion(name, names)});
  return Collective::all_gather;
}

// The axes that --over may name, where the network has one of another name.
std::string over_hint(const std::string& name, const Cluster& cluster, const Mesh& mesh) {
  const bool of_network = std::any_of(cluster.axes.begin(), cluster.axes.end(),
                                      [&](const Axis& axis) { return axis.name == name; }) ||
                          std::any_of(cluster.levels.begin(), cluster.levels.end(),
                                      [&](const Level& level) { return level.name == name; });
  if (!of_network) return suggestion(name, mesh.names());
  return fmt::format("{} is of the network; --over names axes of --mesh: {}", name,
                     fmt::join(mesh.names(), ", "));
}

// Cluster axes of the group: those of the mesh axes that --over names, or all.
std::vector<int> axes_named(const std::optional<std::string>& given, const Cluster& cluster,
                            const Mesh& mesh, std::vector<Problem>& problems) {
  std::vector<int> axes;
  const auto take = [&](const MeshAxis& axis) {
    axes.insert(axes.end(), axis.axes.begin(), axis.axes.end());
  };
  if (!given) {
    for (const MeshAxis& axis : mesh.axes) take(axis);
    if (cluster.devices() == 1)
      problems.push_back(
          {argument_pos("--topology", cluster.text),
           "expected a network of 2 or more devices, found one of 1: nothing is sent",
           "a run on one device needs no collectives: shardsim run"});
    return axes;
  }
  const std::string& over = *given;
  std::vector<std::string> taken;
  const SourcePos pos = argument_pos("--over", over);
  for (std::size_t from = 0; from <= over.size();) {
    const std::size_t comma = std::min(over.find(',', from), over.size());
    const std::string name = over.substr(from, comma - from);
    const SourcePos here =
        pos.at(static_cast<int>(from), std::max(1, static_cast<int>(name.size())));
    if (const MeshAxis* axis = mesh.find(name); axis == nullptr) {
      problems.push_back({here,
                          fmt::format("expected an axis of {}, found \"{}\"", cluster.text, name),
                          over_hint(name, cluster, mesh)});
    } else if (std::find(taken.begin(), taken.end(), name) != taken.end()) {
      problems.push_back({here, fmt::format("axis {} is named twice", name), ""});
    } else {
      taken.push_back(name);
      take(*axis);
    }
    from = comma + 1;
  }
  if (axes.empty() && !taken.empty())
    problems.push_back({pos,
                        fmt::format("expected a group of 2 or more devices, found {} of 1 device: "
                                    "nothing is sent",
                                    fmt::join(taken, ", ")),
                        fmt::format("the mesh has {}", fmt::join(mesh.names(), ", "))});
  return axes;
}

// V from the bytes of one rank: its shard of an all-gather, gather or scatter, its whole array of a
// reduction or broadcast, its send buffer of an all-to-all (the size that nccl-tests prints).
Bytes from_rank(Collective kind, Bytes per_rank, int ranks) {
  const bool whole = kind == Collective::reduce_scatter || kind == Collective::all_reduce ||
                     kind == Collective::broadcast || kind == Collective::reduce;
  return whole ? per_rank : per_rank * ranks;
}

// An all-to-all moves blocks of whole bytes: V up to the next multiple of N^2. Blocks that would be
// less than a byte stay fractions, for a sweep to show how time grows with V.
Bytes padded(Collective kind, Bytes bytes, int ranks) {
  const double blocks = static_cast<double>(ranks) * ranks;
  const double each = bytes / Bytes{1} / blocks;
  return kind != Collective::all_to_all || each < 1 ? bytes : Bytes{std::ceil(each) * blocks};
}

std::string padding_text(Bytes asked, Bytes padded_to, int ranks) {
  const double bytes = padded_to / Bytes{1};
  return fmt::format(
      "V = {:.0f} B is no {} x {} blocks of whole bytes: each is padded to {:.0f} B, V to {:.0f} B",
      asked / Bytes{1}, ranks, ranks, bytes / ranks / ranks, bytes);
}

// Of blocks or pieces that are less than a byte; empty: there are none.
std::string fractions_text(const CollectiveCall& call, const GroupNet& net) {
  const Bytes whole = call.ask.bytes;
  const double blocks = static_cast<double>(net.ranks()) * net.ranks();
  if (call.ask.kind == Collective::all_to_all && whole > Bytes{} && whole < Bytes{1} * blocks) {
    return fmt::format(
        "V = {} in {} x {} blocks, each less than a byte: they are sent as fractions",
        to_text(whole), net.ranks(), net.ranks());
  }
  if (call.algorithm == nullptr || call.algorithm->pieces == nullptr || !(whole > Bytes{}))
    return "";
  const int pieces = call.algorithm->pieces(call.ask, net);
  if (whole >= Bytes{1} * pieces) return "";
  return fmt::format(
      "{} cuts V = {} into P = {} pieces, each less than a byte: they are sent as fractions",
      call.algorithm->name, to_text(whole), pieces);
}

// Sets the cluster and mesh that the arguments describe; the cluster is empty when there is a
// problem.
void read_network(const CollectiveArguments& args, CollectiveRequest& request,
                  std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const StatedNetwork stated =
      stated_network({args.topology, args.bandwidth, args.latency, args.chip, args.mesh}, problems);
  const std::vector<AxisSpec> sizes = sizes_of("--mesh", args.mesh, problems);
  if (problems.size() == before && !stated.priced) {
    problems.push_back(
        {argument_pos("--topology", args.topology),
         "expected a topology that states a bandwidth, or --bandwidth, found neither",
         "for example --bandwidth 100GB/s, of one directed link"});
  }
  const TopologySpec& topology = stated.topology;
  if (topology.kind.value.empty() && topology.levels.empty() && topology.links.empty()) return;
  request.cluster = make_cluster(topology, stated.link, problems);
  if (sizes.empty() || problems.size() != before) return;
  request.mesh =
      place_mesh(row_major(sizes, argument_pos("--mesh", args.mesh)), request.cluster, problems);
}

// --bytes, --bytes-per-rank or the sizes of --sweep-bytes, as written; none for barriers alone.
std::vector<Bytes> read_sizes(const CollectiveArguments& args, std::vector<Problem>& problems) {
  std::vector<std::pair<const char*, std::string>> given;
  if (args.bytes) given.emplace_back("--bytes", *args.bytes);
  if (args.bytes_per_rank) given.emplace_back("--bytes-per-rank", *args.bytes_per_rank);
  if (args.sweep_bytes) given.emplace_back("--sweep-bytes", *args.sweep_bytes);
  const std::string barrier(to_text(Collective::barrier));
  const bool none =
      args.kind == barrier && std::all_of(args.beside.begin(), args.beside.end(),
                                          [&](const std::string& kind) { return kind == barrier; });
  if (none) {
    if (!given.empty()) {
      problems.push_back({argument_pos(given.front().first, given.front().second),
                          "expected no size with a barrier, found one: it has no bytes", ""});
    }
    return {Bytes{}};
  }
  if (given.size() != 1) {
    std::vector<std::string> names;
    for (const auto& [name, text] : given) names.emplace_back(name);
    problems.push_back(
        {argument_pos("collective", args.kind),
         fmt::format("expected one of --bytes, --bytes-per-rank and --sweep-bytes, found {}",
                     given.empty() ? "none" : fmt::format("{}", fmt::join(names, " and "))),
         "for example --bytes 64MiB"});
    return {};
  }
  if (args.sweep_bytes) return sweep_sizes(*args.sweep_bytes, problems);
  if (args.bytes) return {quantity("--bytes", *args.bytes, parse_bytes, problems)};
  return {quantity("--bytes-per-rank", *args.bytes_per_rank, parse_bytes, problems)};
}

struct Wanted {
  Collective kind;
  std::string algorithm;
  SourcePos pos;  // of the choice of the algorithm
};

// The first collective, then those beside it, which choose their own algorithms.
std::vector<Wanted> read_kinds(const CollectiveArguments& args, std::vector<Problem>& problems) {
  std::vector<Wanted> kinds = {{kind_named("collective", args.kind, problems), args.algorithm,
                                argument_pos("--algorithm", args.algorithm)}};
  names_algorithm(args.algorithm, kinds.front().pos, problems);
  for (const std::string& name : args.beside) {
    kinds.push_back(
        {kind_named("--beside", name, problems), "auto", argument_pos("--beside", name)});
  }
  return kinds;
}

// An option that is for other kinds.
Problem of_other_kinds(const char* option, const std::string& value, const char* its_kinds,
                       const std::vector<Wanted>& found) {
  std::vector<std::string_view> names;
  for (const Wanted& wanted : found) names.push_back(to_text(wanted.kind));
  return {argument_pos(option, value),
          fmt::format("expected {} with a {} only, found it with {}", option, its_kinds,
                      fmt::join(names, ", ")),
          ""};
}

constexpr int kMostShift = 1'000'000'000;
constexpr int kMostPieces = 1'000'000;

struct Numbers {
  std::optional<int> shift, root, pieces, window;
};

Numbers read_numbers(const CollectiveArguments& args, std::vector<Problem>& problems) {
  return {whole_number_of("--shift", args.shift, kMostShift, problems),
          whole_number_of("--root", args.root, kMostShift, problems),
          count_of("--pieces", args.pieces, kMostPieces, problems),
          count_of("--window", args.window, kMostShift, problems)};
}

// --shift is for collective-permute, and must move something.
void check_shift(const CollectiveArguments& args, const Numbers& given,
                 const std::vector<Wanted>& kinds, const Axis& last,
                 std::vector<Problem>& problems) {
  if (!args.shift) return;
  const SourcePos pos = argument_pos("--shift", *args.shift);
  const bool permutes = std::any_of(kinds.begin(), kinds.end(), [](const Wanted& wanted) {
    return wanted.kind == Collective::collective_permute;
  });
  if (!permutes) {
    problems.push_back(of_other_kinds("--shift", *args.shift, "collective-permute", kinds));
  } else if (*given.shift % last.size == 0) {
    problems.push_back(
        {pos,
         fmt::format("expected a shift that is no multiple of the {} devices along {}, "
                     "found {}: nothing would move",
                     last.size, last.name, *given.shift),
         ""});
  }
}

// --root is for rooted collectives and names a rank of a group.
void check_root(const CollectiveArguments& args, const Numbers& given,
                const std::vector<Wanted>& kinds, int ranks, std::vector<Problem>& problems) {
  if (!args.root) return;
  const SourcePos pos = argument_pos("--root", *args.root);
  const bool any = std::any_of(kinds.begin(), kinds.end(),
                               [](const Wanted& wanted) { return rooted(wanted.kind); });
  if (!any) {
    problems.push_back(
        of_other_kinds("--root", *args.root, "broadcast, reduce, gather or scatter", kinds));
  } else if (*given.root < 0 || *given.root >= ranks) {
    problems.push_back({pos,
                        fmt::format("expected a root from 0 to {}, a rank of the group, found {}",
                                    ranks - 1, *given.root),
                        fmt::format("{} is nearest", *given.root < 0 ? 0 : ranks - 1)});
  }
}

struct Calls {
  std::vector<CollectiveCall> calls;
  std::vector<std::string> reasons;  // [calls] of the algorithm
  std::vector<std::string> remarks;  // on V: what was added to it, pieces of less than a byte
};

// Switches with the same links are one, unless in full (lower_collectives).
Cluster as_replayed(const CollectiveRequest& request, bool full) {
  return full ? request.cluster : twins_as_one(request.cluster).cluster;
}

// On a graph the choice of an algorithm routes every message; what no algorithm can do within the
// limit is refused before.
void refuse_unroutable(const CollectiveArguments& args, const Wanted& wanted,
                       const CollectiveCall& call, const CollectiveRequest& request) {
  const GroupNet net = group_net(request.cluster, call.axes);
  if (net.graph == nullptr || net.axes.empty()) return;
  const auto fewest = [&](bool full, Grain grain) {
    const Cluster cluster = as_replayed(request, full);
    std::optional<double> least;
    for (const AlgorithmRow* row : considered(call.ask, net)) {
      if (wanted.algorithm != "auto" && wanted.algorithm != row->name) continue;
      CollectiveCall its = call;
      its.algorithm = row;
      const double ops = estimated_ops(its, cluster, Fold::full(cluster), grain);
      least = std::min(ops, least.value_or(ops));
    }
    return least.value_or(0);
  };
  refuse_too_many_ops(fewest(request.full, request.grain),
                      smaller_replays(request.full, request.grain, "devices", fewest),
                      argument_pos("--topology", args.topology));
}

Calls make_calls(const CollectiveArguments& args, const Numbers& given,
                 const std::vector<Wanted>& kinds, Bytes size, const CollectiveRequest& request,
                 std::vector<Problem>& problems) {
  const Cluster& cluster = request.cluster;
  const std::vector<int> axes = axes_named(args.over, cluster, mesh_of(request), problems);
  throw_if_any(problems);
  check_shift(args, given, kinds, cluster.axes[static_cast<std::size_t>(axes.back())], problems);
  const GroupNet net = group_net(cluster, axes);
  check_root(args, given, kinds, net.ranks(), problems);
  if (given.window && *given.window >= net.ranks()) {
    problems.push_back({argument_pos("--window", *args.window),
                        fmt::format("expected at most the {} other ranks at once, found {}",
                                    net.ranks() - 1, *given.window),
                        ""});
  }
  throw_if_any(problems);
  Calls made;
  for (const Wanted& wanted : kinds) {
    CollectiveCall call;
    call.axes = axes;
    call.ask.kind = wanted.kind;
    if (wanted.kind != Collective::barrier) call.ask.bytes = size;
    call.ask.shift = given.shift.value_or(1);
    call.ask.root = given.root.value_or(0);
    if (made.calls.empty()) {  // how the first one is done; those beside it choose for themselves
      call.ask.pieces = given.pieces.value_or(0);
      call.ask.window = given.window.value_or(0);
    }
    if (args.bytes_per_rank) call.ask.bytes = from_rank(wanted.kind, size, net.ranks());
    const Bytes whole = padded(wanted.kind, call.ask.bytes, net.ranks());
    if (whole != call.ask.bytes)
      made.remarks.push_back(padding_text(call.ask.bytes, whole, net.ranks()));
    call.ask.bytes = whole;
    SourcePos pos = wanted.pos;
    if (call.ask.window > 0) pos = argument_pos("--window", *args.window);
    if (call.ask.pieces > 0) pos = argument_pos("--pieces", *args.pieces);
    refuse_unroutable(args, wanted, call, request);
    const Cluster replayed = as_replayed(request, request.full);
    const AlgorithmChoice choice = pick_algorithm(wanted.algorithm, call, replayed, pos, problems);
    call.algorithm = choice.row;
    made.reasons.push_back(choice.reason);
    const std::string fractions = fractions_text(call, group_net(replayed, axes));
    if (!fractions.empty()) made.remarks.push_back(fractions);
    made.calls.push_back(std::move(call));
  }
  throw_if_any(problems);
  return made;
}

void refuse_too_large(const CollectiveRequest& request, const SourcePos& pos) {
  const auto ops = [&](bool full, Grain grain) {
    const Cluster cluster = as_replayed(request, full);
    const Fold fold = full ? Fold::full(cluster) : common_fold(cluster, request.calls, grain);
    double sum = 0;
    for (const CollectiveCall& call : request.calls)
      sum += estimated_ops(call, cluster, fold, grain);
    return sum;
  };
  refuse_too_many_ops(ops(request.full, request.grain),
                      smaller_replays(request.full, request.grain, "devices", ops), pos);
}

}  // namespace

CollectiveReading read_collective(const CollectiveArguments& args) {
  std::vector<Problem> problems;
  if (args.sweep_bytes) {
    require_format(args.format, problems, {"text", "csv", "json"});
    if (!args.beside.empty()) {
      problems.push_back({argument_pos("--beside", args.beside.front()),
                          "expected no --beside with --sweep-bytes, found one", ""});
    }
  } else {
    require_format(args.format, problems);
  }
  CollectiveReading reading;
  reading.engine = engine_named(args.engine, problems);
  CollectiveRequest request;
  request.grain = grain_named(args.grain, problems);
  request.full = args.full;
  const std::vector<Bytes> sizes = read_sizes(args, problems);
  const std::vector<Wanted> kinds = read_kinds(args, problems);
  const Numbers given = read_numbers(args, problems);
  read_network(args, request, problems);
  throw_if_any(problems);
  for (const Bytes size : sizes) {
    Calls made = make_calls(args, given, kinds, size, request, problems);
    request.calls = std::move(made.calls);
    refuse_too_large(request, args.pieces ? argument_pos("--pieces", *args.pieces)
                                          : argument_pos("--topology", args.topology));
    reading.requests.push_back(request);
    reading.reasons.push_back(std::move(made.reasons));
    for (std::string& said : made.remarks) reading.remarks.push_back(std::move(said));
  }
  return reading;
}

}  // namespace shardsim
