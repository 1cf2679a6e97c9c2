#include "report/sweep.h"

#include <fmt/format.h>

#include "report/reports.h"

namespace shardsim {

namespace {

// How nccl-tests counts a kind.
struct Convention {
  bool per_rank = false;       // its size is the buffer of one rank, V/N, not V
  int rounds = 0;              // busbw = algbw * rounds * (N-1)/N; 0: busbw = algbw
  std::string_view text = {};  // of the factor
};

Convention convention_of(Collective kind) {
  switch (kind) {
    case Collective::all_reduce:
      return {false, 2, "2(N-1)/N"};
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return {false, 1, "(N-1)/N"};
    case Collective::all_to_all:
      return {true, 1, "(N-1)/N"};
    case Collective::broadcast:
    case Collective::reduce:
      return {false, 0, "1"};
    case Collective::gather:
    case Collective::scatter:
      return {false, 1, "(N-1)/N"};
    case Collective::collective_permute:
      return {true, 0, "1"};
    case Collective::barrier:
      break;
  }
  return {};
}

double gigabytes_per_s(Bytes bytes, Seconds time) {
  return bytes / time / BytesPerSec{1e9};
}

double algbw(const Sweep& sweep, const SweepPoint& point) {
  return gigabytes_per_s(nccl_size(sweep.kind, point.bytes, sweep.ranks), point.time);
}

double busbw(const Sweep& sweep, const SweepPoint& point) {
  return algbw(sweep, point) * bus_factor(sweep.kind, sweep.ranks);
}

// Where another algorithm takes over; otherwise empty.
std::string crossover(const Sweep& sweep, std::size_t i) {
  if (i == 0 || sweep.points[i].algorithm == sweep.points[i - 1].algorithm) return "";
  return fmt::format("{} instead of {}", sweep.points[i].algorithm, sweep.points[i - 1].algorithm);
}

}  // namespace

Bytes nccl_size(Collective kind, Bytes v, int ranks) {
  return convention_of(kind).per_rank ? v / ranks : v;
}

double bus_factor(Collective kind, int ranks) {
  const int rounds = convention_of(kind).rounds;
  return rounds == 0 ? 1 : rounds * (ranks - 1.0) / ranks;
}

std::string rate_convention(Collective kind) {
  const Convention c = convention_of(kind);
  return fmt::format(
      "algbw and busbw are in GB/s (1e9 bytes per second), as nccl-tests counts: algbw = {}/time, "
      "busbw = algbw * {}{}",
      c.per_rank ? "V/N" : "V", c.text,
      c.per_rank ? fmt::format("; its size of an {} is the buffer of one rank, V/N", to_text(kind))
                 : "");
}

std::string sweep_table(const Sweep& sweep) {
  std::string text = fmt::format(
      "{} over {}: {} devices in a group, {} ({} devices)\n"
      "{} sizes of V from {} to {}; {} engine, {} grain\n{}\n\n",
      to_text(sweep.kind), fmt::join(sweep.axes, ", "), sweep.ranks, sweep.topology, sweep.devices,
      sweep.points.size(), to_text(sweep.points.front().bytes), to_text(sweep.points.back().bytes),
      sweep.engine, to_text(sweep.grain), wrapped(sweep.convention, 100, 0));
  constexpr const char* kHead = "{:>11} {:>17} {:>17}  {:<14} {:>12} {:>12}\n";
  constexpr const char* kRow = "{:>11} {:>17} {:>17}  {:<14} {:>12.4f} {:>12.4f}\n";
  text +=
      fmt::format(kHead, "V", "simulated", "closed form", "algorithm", "algbw GB/s", "busbw GB/s");
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    const std::string over = crossover(sweep, i);
    if (!over.empty()) text += fmt::format("  from {}: {}\n", to_text(point.bytes), over);
    text +=
        fmt::format(kRow, to_text(point.bytes), fine_text(point.time), fine_text(point.analytic),
                    point.algorithm, algbw(sweep, point), busbw(sweep, point));
  }
  return text + assumption_lines(sweep.assumptions);
}

std::string sweep_csv(const Sweep& sweep) {
  std::string text =
      "bytes,time_s,analytic_s,algorithm,algbw,busbw,crossover,nccl_bytes,textbook_s\n";
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{}\n", point.bytes / Bytes{1}, point.time / Seconds{1},
        point.analytic / Seconds{1}, point.algorithm, algbw(sweep, point), busbw(sweep, point),
        crossover(sweep, i), nccl_size(sweep.kind, point.bytes, sweep.ranks) / Bytes{1},
        point.textbook == Seconds{} ? "" : fmt::format("{}", point.textbook / Seconds{1}));
  }
  return text;
}

Json sweep_summary(const Sweep& sweep) {
  Array points;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    const std::string over = crossover(sweep, i);
    points.push_back(
        Object{{"bytes", point.bytes / Bytes{1}},
               {"time_s", point.time / Seconds{1}},
               {"analytic_s", point.analytic / Seconds{1}},
               {"algorithm", point.algorithm},
               {"algbw", algbw(sweep, point)},
               {"busbw", busbw(sweep, point)},
               {"crossover", over.empty() ? Json(nullptr) : Json(over)},
               {"nccl_bytes", nccl_size(sweep.kind, point.bytes, sweep.ranks) / Bytes{1}},
               {"textbook_s",
                point.textbook == Seconds{} ? Json(nullptr) : Json(point.textbook / Seconds{1})}});
  }
  return Object{{"schema", kSchema},
                {"kind", std::string(to_text(sweep.kind))},
                {"axes", sweep.axes},
                {"devices", sweep.ranks},
                {"topology", sweep.topology},
                {"engine", sweep.engine},
                {"grain", std::string(to_text(sweep.grain))},
                {"bandwidth_convention", sweep.convention},
                {"units", Object{{"algbw", "GB/s"}, {"busbw", "GB/s"}}},
                {"points", std::move(points)},
                {"assumptions", sweep.assumptions}};
}

}  // namespace shardsim
