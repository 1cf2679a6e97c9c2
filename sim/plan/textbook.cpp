// What a collective's figures are compared with and told in: the textbook's formula, and which
// bandwidth W1 and W are.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plan/algorithm_parts.h"
#include "plan/algorithms.h"

namespace shardsim {

namespace {

std::string convention_of(const GroupAxis& axis) {
  const std::string w1 = to_text(axis.w1);
  switch (axis.wiring) {
    case Wiring::ring:
      return fmt::format("W1 = {} each way, W = 2*W1 = {} per wrapped axis", w1,
                         to_text(axis.w1 * 2));
    case Wiring::ring_oneway:
      return fmt::format("W1 = W = {}, one direction only", w1);
    case Wiring::line:
      return fmt::format("W1 = W = {} each way, no wrap", w1);
    case Wiring::pair:
      return fmt::format("W1 = W = {} each way, one link on an axis of 2", w1);
    case Wiring::star:
      return fmt::format("W1 = W = {} egress per device", w1);
    case Wiring::graph:
      return fmt::format("W1 = W = {} from each rank to the next, all at once", w1);
    case Wiring::full_mesh:
      return fmt::format("W1 = {} a cable, W = (N-1)*W1 = {} egress per device", w1,
                         to_text(axis.w1 * axis.ports));
  }
  return "";
}

}  // namespace

namespace {

// Of each axis or level, where they differ.
std::string conventions_of(const GroupNet& net) {
  std::vector<std::pair<std::string, std::string>> said;  // text, names of the axes
  for (const GroupAxis& axis : net.axes) {
    const std::string one = convention_of(axis);
    const auto at = std::find_if(said.begin(), said.end(),
                                 [&](const auto& before) { return before.first == one; });
    if (at == said.end()) {
      said.emplace_back(one, axis.name);
    } else if (at->second != axis.name) {
      at->second += ", " + axis.name;
    }
  }
  if (said.size() == 1) return said.front().first;
  std::vector<std::string> texts;
  for (const auto& [one, names] : said)
    texts.push_back(names.empty() ? one : fmt::format("{}: {}", names, one));
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

std::string bandwidth_convention(const GroupNet& net) {
  if (net.axes.empty()) return "one device: nothing is sent";
  return conventions_of(net) + (net.strided ? "; what each group has of the links they share" : "");
}

namespace {

constexpr const char* kUnpriced = "the book prices no such collective";

ClosedForm no_textbook(const char* why) {
  return {Seconds{}, fmt::format("none: {}", why), false};
}

// Over levels of switches W is what a block of devices below the slowest level sends out of it at
// once, 8 NICs of a node (Scaling Book ch. 12).
ClosedForm textbook_over_levels(const CollectiveAsk& ask, const GroupNet& net) {
  BytesPerSec w, one;
  double below = 1;
  for (const int i : outside_in(net)) below *= net.axes[static_cast<std::size_t>(i)].size;
  for (const int i : outside_in(net)) {
    const GroupAxis& axis = net.axes[static_cast<std::size_t>(i)];
    if (axis.wiring != Wiring::star)
      return no_textbook("the book's W over levels is that of switches");
    below /= axis.size;
    if (w != BytesPerSec{} && axis.w1 * below >= w) continue;
    w = axis.w1 * below;
    one = axis.w1;
  }
  const char* kW = "of the devices below the slowest level";
  switch (ask.kind) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return {ask.bytes / w, fmt::format("V/W {}", kW), false};
    case Collective::all_reduce:
      return {2.0 * (ask.bytes / w), fmt::format("2V/W {}", kW), false};
    case Collective::all_to_all:
      return {ask.bytes / static_cast<double>(net.ranks()) / one,
              "V/(N*W1) of a device at the slowest level", false};
    default:
      return no_textbook(kUnpriced);
  }
}

}  // namespace

namespace {

// Whether all axes have the same W.
bool same_w(const GroupNet& net) {
  return std::all_of(net.axes.begin(), net.axes.end(), [&](const GroupAxis& axis) {
    return axis.w1 * axis.ports == net.axes[0].w1 * net.axes[0].ports;
  });
}

}  // namespace

ClosedForm textbook(const CollectiveAsk& ask, const GroupNet& net) {
  if (net.graph != nullptr)
    return no_textbook("the book's W is that of rings, tori and switches, not of a graph");
  if (net.meets) return no_textbook("the book's axes share no links");
  if (levels(net)) return textbook_over_levels(ask, net);
  BytesPerSec w;
  for (const GroupAxis& axis : net.axes) {
    if (star(net)) {
      w = axis.w1;
    } else {
      w += axis.w1 * axis.ports;
    }
  }
  const GroupAxis& first = net.axes[0];
  const double k = star(net) ? 1.0 : static_cast<double>(net.axes.size());
  const std::string over = k > 1 ? fmt::format("({:g}*W)", k) : "W";
  switch (ask.kind) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return {ask.bytes / w, "V/" + over, false};
    case Collective::all_reduce:
      return {2.0 * (ask.bytes / w), "2V/" + over, false};
    case Collective::all_to_all: {
      if (star(net)) return {ask.bytes / static_cast<double>(net.ranks()) / w, "V/(N*W)", false};
      if (first.wiring == Wiring::ring_oneway && k == 1)
        return {ask.bytes / 2.0 / w, "V/(2W)", false};
      const BytesPerSec one = first.w1 * first.ports;
      if (first.wiring == Wiring::full_mesh) {
        return {ask.bytes / static_cast<double>(net.ranks()) / one, "V/(N*W)", false};
      }
      if (k == 1) return {ask.bytes / 4.0 / one, "V/(4W)", false};
      Seconds slowest;  // of the axes, each of which is as busy as a ring with its W
      for (const GroupAxis& axis : net.axes) {
        const Bytes half = ask.bytes * (axis.size / 4.0 / net.ranks());
        slowest = std::max(slowest, half / (axis.w1 * axis.ports));
      }
      return {slowest, same_w(net) ? "V*max(A)/(4*N*W)" : "max(A/W)*V/(4*N)", false};
    }
    case Collective::collective_permute:
      if (!ask.targets.empty()) return no_textbook(kUnpriced);
      return {ask.bytes / static_cast<double>(net.ranks()) / first.w1, "V/(N*W1)", false};
    default:  // rooted collectives and barriers
      return no_textbook(kUnpriced);
  }
}

}  // namespace shardsim
