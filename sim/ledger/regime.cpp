#include "ledger/regime.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/csv.h"
#include "base/must.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {

namespace {

constexpr int kFewest = 2, kMost = 1024;        // devices, powers of 2
constexpr const char* kSizes = "1KiB:16GiB:4";  // of V
constexpr std::array<const char*, 3> kKinds = {"all-gather", "all-reduce", "all-to-all"};

struct Network {
  std::string_view name;
  std::string_view help;
  std::string (*options)(int devices);  // of the command
};

// A x B with A = B or A = 2 B.
std::string square(int devices) {
  int one = 1;
  while (one * one < devices) one *= 2;
  const int other = devices / one;
  return other == 1 ? fmt::format("torus:{}", one) : fmt::format("torus:{}x{}", one, other);
}

constexpr const char* kLinks = "--bandwidth 100GB/s --latency 1us";
const std::array<Network, 4> kNetworks = {
    Network{"ring", "two-way ring, W1 = 100 GB/s each way, 1 us a hop",
            [](int n) { return fmt::format("--topology ring:{} {}", n, kLinks); }},
    Network{"torus", "two-dimensional torus A x A or 2A x A, W1 = 100 GB/s each way, 1 us a hop",
            [](int n) { return fmt::format("--topology {} {}", square(n), kLinks); }},
    Network{"switch", "one switch, W1 = 450 GB/s egress per device, 1 us a route",
            [](int n) {
              return fmt::format("--topology switch:{} --bandwidth 450GB/s --latency 1us", n);
            }},
    Network{
        "nodes of 8",
        "8 GPUs on NVLink, 450 GB/s, 1 us; a NIC of 50 GB/s each, 5 us (hgx-h100-x128)", [](int n) {
          return fmt::format("--topology hgx-h100-x128 --mesh R={},G={} --over G", kMost / n, n);
        }}};

double number_of(const Json& point, std::string_view key) {
  const Json* value = find(point, key);
  must(value != nullptr, "a sweep's points have the key");
  const auto* number = std::get_if<double>(&value->data);
  must(number != nullptr, "a sweep's figures are numbers");
  return *number;
}

void add_sweep(const Network& network, const char* kind, int devices, Commands& commands,
               std::vector<RegimePoint>& points) {
  const std::string command =
      fmt::format("collective {} {} --sweep-bytes {}", kind, network.options(devices), kSizes);
  std::vector<Problem> problems;
  const Outcome& outcome = commands.outcome(command_words(command, {}, problems));
  must(problems.empty() && outcome.status == 0, outcome.message);
  const Json* list = find(outcome.document, "points");
  must(list != nullptr, "a sweep has points");
  for (const Json& point : std::get<Array>(list->data)) {
    points.push_back({std::string(network.name), kind, "shardsim " + command, devices,
                      number_of(point, "bytes"), number_of(point, "textbook_s"),
                      number_of(point, "time_s"),
                      std::get<std::string>(find(point, "algorithm")->data)});
  }
}

// How far a formula is off, as one character.
struct Shade {
  char mark;
  double slower;  // least simulated/formula
  std::string_view text;
};
constexpr std::array kShades = {
    Shade{'#', 10, "10 times as long or longer"},
    Shade{'O', 2, "2 to 10 times as long"},
    Shade{'o', 1 / (1 - kRegimeWithin), "longer, up to 2 times"},
    Shade{'.', 1 / (1 + kRegimeWithin), "the formula is within 5 % of the replay"},
    Shade{'-', 0.5, "shorter, down to a half"},
    Shade{'=', 0, "less than half as long"}};

char mark_of(const RegimePoint& point) {
  const double slower = point.time_s / point.textbook_s;
  return std::find_if(kShades.begin(), kShades.end(),
                      [&](const Shade& shade) { return slower >= shade.slower * (1 - 1e-12); })
      ->mark;
}

double off(const RegimePoint& point) {
  return point.textbook_s / point.time_s - 1;
}

std::string csv(const std::vector<RegimePoint>& points) {
  std::string text =
      "network,kind,devices,bytes,textbook_s,simulated_s,textbook_off,within_5_percent,algorithm,"
      "command\n";
  for (const RegimePoint& point : points) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", point.network, point.kind, point.devices,
                        exact_text(point.bytes), exact_text(point.textbook_s),
                        exact_text(point.time_s), exact_text(off(point)),
                        mark_of(point) == '.' ? 1 : 0, point.algorithm, csv_field(point.command));
  }
  return text;
}

}  // namespace

std::vector<RegimePoint> regime(Commands& commands) {
  std::vector<RegimePoint> points;
  for (const Network& network : kNetworks) {
    for (const char* kind : kKinds) {
      for (int devices = kFewest; devices <= kMost; devices *= 2) {
        add_sweep(network, kind, devices, commands, points);
      }
    }
  }
  return points;
}

std::string regime_map(const std::vector<RegimePoint>& points) {
  std::string text =
      "Where the textbook formulas hold: simulated time against V/W (all-gather), 2V/W "
      "(all-reduce),\nV/(4W), V*max(A)/(4NW) or V/(NW) (all-to-all). Down: devices; across: V "
      "from ";
  const auto [least, most] = std::minmax_element(
      points.begin(), points.end(),
      [](const RegimePoint& a, const RegimePoint& b) { return a.bytes < b.bytes; });
  text += fmt::format("{} to {}, each 4\ntimes the one before.\n\n", to_text(Bytes{least->bytes}),
                      to_text(Bytes{most->bytes}));
  for (const Shade& shade : kShades) text += fmt::format("  {}  {}\n", shade.mark, shade.text);
  for (const Network& network : kNetworks) {
    text += fmt::format("\n{}: {}\n        ", network.name, network.help);
    for (const char* kind : kKinds) text += fmt::format("  {:<15}", kind);
    text.erase(text.find_last_not_of(' ') + 1);
    for (int devices = kFewest; devices <= kMost; devices *= 2) {
      text += fmt::format("\n  {:>5} ", devices);
      for (const char* kind : kKinds) {
        text += "  ";
        int count = 0;
        for (const RegimePoint& point : points) {
          if (point.network != network.name || point.kind != kind || point.devices != devices)
            continue;
          text += mark_of(point);
          ++count;
        }
        text.append(static_cast<std::size_t>(std::max(0, 15 - count)), ' ');
      }
      text.erase(text.find_last_not_of(' ') + 1);
    }
    text += "\n";
  }
  const auto holding = std::count_if(
      points.begin(), points.end(), [](const RegimePoint& point) { return mark_of(point) == '.'; });
  return text + fmt::format(
                    "\n{} of {} points within 5 %; replays are folded, with the algorithm of "
                    "the smallest\nclosed form\n",
                    holding, points.size());
}

std::vector<OutputFile> regime_files(const std::vector<RegimePoint>& points,
                                     const std::string& directory) {
  return {{directory + "/regime.csv", csv(points)},
          {directory + "/regime.txt", regime_map(points)}};
}

}  // namespace shardsim
