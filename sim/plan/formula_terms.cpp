#include "plan/formula_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "plan/algorithm_parts.h"
#include "plan/direct_algorithms.h"

namespace shardsim {

namespace {

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Whether a symbol stands in the formula: a word of its own, and "a" not as an article.
bool has(std::string_view formula, std::string_view symbol) {
  for (std::size_t at = formula.find(symbol); at != std::string_view::npos;
       at = formula.find(symbol, at + 1)) {
    const std::size_t end = at + symbol.size();
    if (at > 0 && in_word(formula[at - 1])) continue;
    if (end < formula.size() && in_word(formula[end])) continue;
    const bool word_follows = end + 1 < formula.size() && formula[end] == ' ' &&
                              std::isalpha(static_cast<unsigned char>(formula[end + 1])) != 0;
    if (symbol != "a" || !word_follows) return true;
  }
  return false;
}

// "x 8, y 4": a value for each axis, or each level.
template <class Value>
std::string by_axis(const GroupNet& net, Value value) {
  std::vector<std::string> texts;
  for (const GroupAxis& axis : net.axes)
    texts.push_back(fmt::format("{} {}", axis.name, value(axis)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string where_along(const GroupNet& net) {
  return levels(net) ? "at a level" : "along an axis";
}

// What a latency is of: through a switch, or to a neighbour.
std::string_view passage_text(const GroupNet& net) {
  const auto routes = std::count_if(net.axes.begin(), net.axes.end(), [](const GroupAxis& axis) {
    return axis.wiring == Wiring::star;
  });
  return routes == 0 ? "hop" : routes == std::ssize(net.axes) ? "route" : "hop or route";
}

std::string latency_text(const GroupNet& net) {
  const GroupAxis& first = net.axes.front();
  const bool alike = std::all_of(net.axes.begin(), net.axes.end(), [&](const GroupAxis& axis) {
    return axis.latency == first.latency && axis.wiring == first.wiring;
  });
  if (net.graph != nullptr) return "a: latency of the way that takes longest";
  if (!alike) {
    return fmt::format("a: latency of a {} ({})", passage_text(net),
                       by_axis(net, [](const GroupAxis& axis) { return to_text(axis.latency); }));
  }
  return fmt::format("a = {}, latency of a {}", to_text(first.latency), passage_text(net));
}

std::string devices_text(const GroupNet& net) {
  return fmt::format("A: devices {} ({})", where_along(net),
                     by_axis(net, [](const GroupAxis& axis) { return axis.size; }));
}

std::string gathered_text(const GroupNet& net) {
  return fmt::format("G: devices whose data one has before its turn {}", where_along(net));
}

std::string ports_text(const GroupNet& net) {
  return fmt::format("ports: links of a device {} ({})", where_along(net),
                     by_axis(net, [](const GroupAxis& axis) { return axis.ports; }));
}

std::string share_text(const GroupNet& net) {
  return levels(net) ? "share: of V that is in the piece"
                     : "share: of V that goes along the axes in this order";
}

std::string hops_text(const GroupNet& net) {
  return fmt::format("H: hops one way along an axis to all its devices ({})",
                     by_axis(net, [](const GroupAxis& axis) { return hop_load(axis); }));
}

std::string pairs_text(const GroupNet&) {
  return "pairs: of devices, whose messages the port carries";
}

std::string slots_text(const GroupNet&) {
  return "S: steps until the first pieces have arrived everywhere";
}

std::string nodes_text(const GroupNet& net) {
  int level = net.axes.front().level, inside = 1;
  for (const GroupAxis& axis : net.axes) level = std::min(level, axis.level);
  for (const GroupAxis& axis : net.axes) inside *= axis.level == level ? axis.size : 1;
  return fmt::format("k = {} devices of a node", inside);
}

std::string ranks_text(const GroupNet& net) {
  return fmt::format("N = {} devices of the group", net.ranks());
}

struct Term {
  std::string_view symbol;
  std::string (*text)(const GroupNet&);
};

constexpr std::array<Term, 10> kTerms = {{{"N", ranks_text},
                                          {"a", latency_text},
                                          {"A", devices_text},
                                          {"G", gathered_text},
                                          {"H", hops_text},
                                          {"k", nodes_text},
                                          {"share", share_text},
                                          {"ports*W1", ports_text},
                                          {"pairs", pairs_text},
                                          {"S", slots_text}}};

}  // namespace

std::string terms_text(const std::string& formula, const AlgorithmRow& row, const GroupNet& net) {
  std::vector<std::string> texts;
  for (const Term& term : kTerms) {
    if (!has(formula, term.symbol)) continue;
    const bool of_part = row.parts != nullptr && term.symbol == "N";
    texts.push_back(of_part ? "N and V: devices and bytes of each part" : term.text(net));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace shardsim
