#include "replay/replay.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "base/file.h"
#include "base/problem.h"

namespace shardsim {

namespace {

using Waits = std::vector<std::uint32_t>;

// A graph under construction; every function returns the new op's or route's id.
struct Builder {
  OpGraph graph;

  std::uint32_t link(double bandwidth) {
    graph.links.push_back({.name = std::to_string(graph.links.size()), .bandwidth = {bandwidth}});
    return static_cast<std::uint32_t>(graph.links.size() - 1);
  }
  RouteId route(std::vector<std::uint32_t> links) {
    std::sort(links.begin(), links.end());
    graph.route_links.insert(graph.route_links.end(), links.begin(), links.end());
    graph.route_offset.push_back(static_cast<std::uint32_t>(graph.route_links.size()));
    return RouteId{static_cast<std::uint32_t>(graph.route_offset.size() - 2)};
  }
  std::uint32_t op(const Op& what, const Waits& waits = {}) {
    graph.ops.push_back(what);
    for (const std::uint32_t dep : waits) graph.deps.push_back(OpId{dep});
    graph.dep_offset.push_back(static_cast<std::uint32_t>(graph.deps.size()));
    graph.phases = std::max(graph.phases, what.phase + 1);
    return static_cast<std::uint32_t>(graph.size() - 1);
  }
  std::uint32_t compute(double seconds, const Waits& waits = {}) {
    return op({.kind = OpKind::compute, .seconds = {seconds}}, waits);
  }
  std::uint32_t join(const Waits& waits = {}) { return op({}, waits); }
  std::uint32_t transfer(RouteId route, double bytes, double latency = 0, const Waits& waits = {},
                         double flows = 1, std::uint32_t phase = 0) {
    return op({.kind = OpKind::transfer,
               .phase = phase,
               .route = route,
               .seconds = {latency},
               .bytes = {bytes},
               .flows = flows},
              waits);
  }
};

// The reference: weighted max-min sharing by progressive filling, from event to event.
class Reference {
 public:
  explicit Reference(const OpGraph& graph)
      : graph_(graph),
        state_(graph.size(), State::waiting),
        due_(graph.size(), 0),
        left_(graph.size(), 0),
        rate_(graph.size(), 0),
        end_(graph.size(), -1) {}

  std::vector<long double> run() {
    while (settle(), share(), advance()) {
    }
    return end_;
  }

 private:
  enum class State { waiting, timed, flowing, done };

  // Starts and ends whatever can at this moment, until nothing changes.
  void settle() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t op = 0; op < graph_.size(); ++op) changed = step(op) || changed;
    }
  }

  bool step(std::uint32_t op) {
    const Op& what = graph_.ops[op];
    if (state_[op] == State::waiting) {
      for (const OpId dep : graph_.waits_for(OpId{op}))
        if (state_[static_cast<std::size_t>(dep)] != State::done) return false;
      state_[op] = State::timed;
      due_[op] = now_ + (what.kind == OpKind::join ? 0.0L : what.seconds.v);
      left_[op] = what.kind == OpKind::transfer ? what.bytes.v : 0.0L;
      return true;
    }
    const bool time_up = state_[op] == State::timed && due_[op] <= now_;
    if (time_up && left_[op] > 0) {
      state_[op] = State::flowing;
      return true;
    }
    if (!time_up && !(state_[op] == State::flowing && left_[op] <= 0)) return false;
    state_[op] = State::done;
    end_[op] = now_;
    return true;
  }

  // Raises all rates in proportion to their flows; those on a link that fills up stay where they
  // are.
  void share() {
    std::vector<std::uint32_t> rising;
    for (std::uint32_t op = 0; op < graph_.size(); ++op)
      if (state_[op] == State::flowing) rising.push_back(op);
    std::vector<long double> room;
    for (const NetLink& link : graph_.links) room.push_back(link.bandwidth.v);
    while (!rising.empty()) {
      std::vector<long double> weight(room.size(), 0);
      for (const std::uint32_t op : rising)
        for (const std::uint32_t link : links(op)) weight[link] += graph_.ops[op].flows;
      std::size_t full = room.size();
      for (std::size_t link = 0; link < room.size(); ++link) {
        if (weight[link] == 0) continue;
        if (full == room.size() || room[link] * weight[full] < room[full] * weight[link])
          full = link;
      }
      const long double level = room[full] / weight[full];
      std::erase_if(rising, [&](std::uint32_t op) {
        if (std::ranges::find(links(op), full) == links(op).end()) return false;
        rate_[op] = level * graph_.ops[op].flows;
        for (const std::uint32_t link : links(op)) room[link] -= rate_[op];
        return true;
      });
    }
  }

  // To the next event; false when there is none.
  bool advance() {
    constexpr long double kNone = std::numeric_limits<long double>::infinity();
    long double next = kNone;
    for (std::uint32_t op = 0; op < graph_.size(); ++op) {
      if (state_[op] == State::timed) next = std::min(next, due_[op]);
      if (state_[op] == State::flowing) next = std::min(next, now_ + left_[op] / rate_[op]);
    }
    if (next == kNone) return false;
    for (std::uint32_t op = 0; op < graph_.size(); ++op) {
      if (state_[op] != State::flowing) continue;
      left_[op] -= (next - now_) * rate_[op];
      if (left_[op] <= 1e-16L * graph_.ops[op].bytes.v) left_[op] = 0;
    }
    now_ = next;
    return true;
  }

  std::span<const std::uint32_t> links(std::uint32_t op) const {
    return graph_.route(graph_.ops[op].route);
  }

  const OpGraph& graph_;
  std::vector<State> state_;
  std::vector<long double> due_, left_, rate_, end_;
  long double now_ = 0;
};

double relative_error(Seconds found, long double expected) {
  if (expected == 0) return std::abs(found.v);
  return std::abs(static_cast<double>((found.v - expected) / expected));
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Replays and holds the result to both checkers.
Timeline checked(Timeline (*engine)(const OpGraph&), const OpGraph& graph) {
  CHECK(text_of(check(graph)) == "");
  Timeline timeline = engine(graph);
  if (engine == replay_simgrid) CHECK(text_of(check(timeline, graph)) == "");
  return timeline;
}

double uniform(std::mt19937& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

std::uint32_t below(std::mt19937& random, std::uint32_t count) {
  return static_cast<std::uint32_t>(random() % count);
}

// One to five links, repeats likely.
std::vector<std::uint32_t> random_links(std::mt19937& random, std::uint32_t count) {
  std::vector<std::uint32_t> links(1 + below(random, 5));
  for (std::uint32_t& link : links) link = below(random, count);
  return links;
}

// All kinds of ops; contended, repeated, weighted, with and without latency, bytes and time.
OpGraph random_graph(unsigned seed) {
  std::mt19937 random(seed);
  Builder out;
  const std::uint32_t links = 1 + below(random, 5), routes = 1 + below(random, 8);
  for (std::uint32_t i = 0; i < links; ++i) out.link(uniform(random, 1e9, 1e11));
  for (std::uint32_t i = 0; i < routes; ++i) out.route(random_links(random, links));
  constexpr std::array kFlows = {1.0, 1.0, 1.0, 0.5, 2.0, 3.0, 0.25, 16383.0};
  for (std::uint32_t i = 0, ops = 5 + below(random, 56); i < ops; ++i) {
    Waits waits;
    for (std::uint32_t n = below(random, 3); n > 0 && i > 0; --n)
      waits.push_back(i - 1 - below(random, std::min(i, 12u)));
    const double seconds = below(random, 3) == 0 ? 0 : uniform(random, 0, 1e-3);
    const double bytes = below(random, 8) == 0 ? 0 : uniform(random, 1e3, 1e7);
    switch (below(random, 8)) {
      case 0:
        out.join(waits);
        break;
      case 1:
        out.compute(seconds, waits);
        break;
      case 2:
        out.op({.kind = OpKind::delay, .seconds = {seconds}}, waits);
        break;
      default:
        out.transfer(RouteId{below(random, routes)}, bytes, seconds, waits,
                     kFlows[below(random, kFlows.size())]);
    }
  }
  return out.graph;
}

}  // namespace

TEST_CASE("replay: simgrid equals a max-min reference on random graphs") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const OpGraph graph = random_graph(seed);
    const Timeline timeline = checked(replay_simgrid, graph);
    const std::vector<long double> expected = Reference(graph).run();
    for (std::uint32_t op = 0; op < graph.size(); ++op) {
      CAPTURE(describe(graph, OpId{op}));
      CHECK(relative_error(timeline.end[op], expected[op]) < 1e-9);
    }
  }
}

TEST_CASE("replay: sharing by hand") {
  struct Row {
    const char* text;
    std::vector<double> bandwidths;
    struct Transfer {
      std::vector<std::uint32_t> links;
      double bytes, latency, flows;
    };
    std::vector<Transfer> transfers;
    std::vector<double> ends;  // of transfers, in order
  };
  const Row rows[] = {
      {"alone", {1e9}, {{{0}, 1e6, 1e-6, 1}}, {1.001e-3}},
      {"latency is no share",
       {50e9},
       {{{0}, 1e9, 1e-6, 1}, {{0}, 1e9, 4e-6, 1}},
       {0.039998, 0.040001}},
      {"three flows against one", {1e9}, {{{0}, 3e6, 0, 3}, {{0}, 1e6, 0, 1}}, {4e-3, 4e-3}},
      {"half a flow against one", {1e9}, {{{0}, 1e6, 0, 0.5}, {{0}, 2e6, 0, 1}}, {3e-3, 3e-3}},
      {"16,383 flows against one",
       {1e9},
       {{{0}, 16383e3, 0, 16383}, {{0}, 1e3, 0, 1}},
       {16.384e-3, 16.384e-3}},
      {"a link loaded three times", {3e9}, {{{0, 0, 0}, 1e6, 0, 1}}, {1e-3}},
      {"loaded twice beside once", {3e9}, {{{0, 0}, 1e6, 0, 1}, {{0}, 1e6, 0, 1}}, {1e-3, 1e-3}},
      {"the narrow link counts",
       {1e9, 1e8},
       {{{0, 1}, 1e6, 0, 1}, {{0}, 9e6, 0, 1}},
       {10e-3, 10e-3}},
      {"ends half a nanosecond apart",
       {1e9, 1e9},
       {{{0}, 1e3, 0, 1}, {{1}, 1000.5, 0, 1}},
       {1e-6, 1.0005e-6}},
      {"no bytes, only latency", {1e9}, {{{0}, 0, 5e-6, 1}, {{0}, 1e6, 0, 1}}, {5e-6, 1e-3}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    Builder build;
    for (const double bandwidth : row.bandwidths) build.link(bandwidth);
    for (const auto& [links, bytes, latency, flows] : row.transfers)
      build.transfer(build.route(links), bytes, latency, {}, flows);
    const Timeline timeline = checked(replay_simgrid, build.graph);
    for (std::size_t op = 0; op < row.ends.size(); ++op) {
      CAPTURE(op);
      CAPTURE(timeline.end[op].v);
      CHECK(relative_error(timeline.end[op], row.ends[op]) < 1e-12);
    }
  }
}

TEST_CASE("replay: ideal equals simgrid when no two phases share a link") {
  for (unsigned seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Builder build;
    std::uint32_t phase = 0;
    for (int chain = 0; chain < 3; ++chain) {  // side by side, each on links of its own
      std::vector<RouteId> routes;
      for (int i = 0; i < 3; ++i)
        routes.push_back(build.route({build.link(uniform(random, 1e9, 1e11))}));
      std::uint32_t before = build.join();
      for (int step = 0; step < 5; ++step, ++phase) {
        Waits sent;
        const double bytes = uniform(random, 1e3, 1e7), latency = uniform(random, 0, 1e-5);
        for (std::uint32_t n = 1 + below(random, 6); n > 0; --n)
          sent.push_back(
              build.transfer(routes[below(random, 3)], bytes, latency, {before}, 1, phase));
        before = build.compute(uniform(random, 0, 1e-4), sent);
      }
    }
    const Timeline ideal = checked(replay_ideal, build.graph);
    const Timeline simgrid = checked(replay_simgrid, build.graph);
    for (std::uint32_t op = 0; op < build.graph.size(); ++op) {
      CAPTURE(describe(build.graph, OpId{op}));
      CHECK(relative_error(ideal.end[op], simgrid.end[op].v) < 1e-9);
    }
  }
}

TEST_CASE("replay: ideal is a lower bound where phases contend") {
  int strictly_below = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Builder build;
    const std::uint32_t links = 2 + below(random, 5);
    for (std::uint32_t i = 0; i < links; ++i) build.link(uniform(random, 1e9, 1e11));
    std::vector<RouteId> routes;
    for (int i = 0; i < 10; ++i) routes.push_back(build.route(random_links(random, links)));
    std::vector<std::uint32_t> barriers;
    std::uint32_t phase = 0;
    for (int chain = 0; chain < 3; ++chain) {  // side by side on the same links
      std::uint32_t before = build.join();
      for (int step = 0; step < 4; ++step, ++phase) {
        Waits sent;
        const double latency = uniform(random, 0, 1e-5);
        for (std::uint32_t n = 1 + below(random, 6); n > 0; --n)
          sent.push_back(build.transfer(routes[below(random, 10)], uniform(random, 0, 1e7), latency,
                                        {before}, 1 + below(random, 3), phase));
        before = build.join(sent);
        barriers.push_back(before);
      }
    }
    const Timeline ideal = checked(replay_ideal, build.graph);
    const Timeline simgrid = checked(replay_simgrid, build.graph);
    for (const std::uint32_t op : barriers) {
      CAPTURE(describe(build.graph, OpId{op}));
      CHECK(ideal.end[op].v <= simgrid.end[op].v * (1 + 1e-9));
    }
    if (ideal.makespan().v < simgrid.makespan().v * 0.99) ++strictly_below;
  }
  CHECK(strictly_below > 30);  // else nothing contended
}

TEST_CASE("replay: ideal does not need the ops of a phase to stand together") {
  Builder build;
  const RouteId twice = build.route({build.link(1e9), 0, build.link(2e9)});
  const RouteId once = build.route({0});
  build.transfer(once, 1e6, 1e-6, {}, 1, 1);
  build.transfer(twice, 2e6, 0, {}, 1, 0);  // 4 ms of link 0 and 1 ms of link 1
  build.transfer(once, 3e6, 0, {0}, 1, 1);  // phase 1: 4 ms
  build.transfer(once, 0, 2e-6, {2}, 1, 0);
  const Timeline timeline = replay_ideal(build.graph);
  const double expected[] = {4.001e-3, 4e-3, 8.001e-3, 8.003e-3};
  for (std::size_t op = 0; op < 4; ++op)
    CHECK(relative_error(timeline.end[op], expected[op]) < 1e-12);
}

TEST_CASE("replay: without bytes on the network the longest path says it all") {
  Builder build;
  const RouteId route = build.route({build.link(1e9)});
  const std::uint32_t a = build.compute(1e-3), b = build.compute(2e-3, {a});
  const std::uint32_t c = build.transfer(route, 0, 5e-3, {a});
  build.join({b, c});
  for (const EngineRow& engine : engines()) {
    CAPTURE(engine.name);
    const Timeline timeline = checked(engine.run, build.graph);
    CHECK(relative_error(timeline.makespan(), 6e-3) < 1e-12);
    CHECK(timeline.start[b] == timeline.end[a]);
    CHECK(checked(engine.run, OpGraph{}).makespan() == Seconds{0});
  }
}

TEST_CASE("replay: a chain of a million joins, last id first, beside a flow") {
  constexpr std::uint32_t kJoins = 1'000'000;
  OpGraph graph;
  graph.ops.resize(kJoins);
  for (std::uint32_t op = 0; op < kJoins; ++op) {
    graph.deps.push_back(OpId{op + 1});  // the last join waits for the flow
    graph.dep_offset.push_back(op + 1);
  }
  Builder build{.graph = std::move(graph)};
  build.transfer(build.route({build.link(1e9)}), 1e6);
  for (const EngineRow& engine : engines()) {
    CAPTURE(engine.name);
    const Timeline timeline = engine.run(build.graph);
    CHECK(relative_error(timeline.end[0], 1e-3) < 1e-12);
  }
}

TEST_CASE("replay: ten thousand flows and links alive at once, all coupled") {
  Builder build;
  constexpr std::uint32_t kCount = 10'000;
  for (std::uint32_t i = 0; i < kCount; ++i) build.link(1e9);
  for (std::uint32_t i = 0; i < kCount; ++i)
    build.transfer(build.route({i, (i + 1) % kCount}), 1e6);
  const Timeline timeline = checked(replay_simgrid, build.graph);
  for (const Seconds end : {timeline.end.front(), timeline.end.back()})
    CHECK(relative_error(end, 2e-3) < 1e-9);
}

TEST_CASE("replay: same graph, same bytes") {
  for (const EngineRow& engine : engines()) {
    CAPTURE(engine.name);
    const OpGraph graph = random_graph(3);
    const Timeline one = engine.run(graph), two = engine.run(graph);
    REQUIRE(one.end.size() == two.end.size());
    const std::size_t bytes = one.end.size() * sizeof(Seconds);
    CHECK(std::memcmp(one.start.data(), two.start.data(), bytes) == 0);
    CHECK(std::memcmp(one.end.data(), two.end.data(), bytes) == 0);
  }
}

TEST_CASE("replay: a stuck graph names ops and what they wait for") {
  const char* const kExpected =
      "the replay is stuck: 7 of 9 ops never ended\n"
      "  op 1: compute 1 s\n    waits for op 2: join\n"
      "  op 2: join\n    waits for op 1: compute 1 s\n"
      "  op 3: join\n    waits for op 1: compute 1 s\n    waits for op 2: join\n"
      "    waits for op 1: compute 1 s\n    and 1 more\n"
      "  op 4: join\n    waits for op 1: compute 1 s\n"
      "  op 5: join\n    waits for op 1: compute 1 s\n"
      "  and 2 more";
  Builder build;
  build.compute(1);
  build.compute(1, {2});
  build.join({1, 0});
  build.join({1, 2, 1, 2});
  for (int i = 0; i < 4; ++i) build.join({1});
  build.transfer(build.route({build.link(1e9)}), 1e6);
  for (const EngineRow& engine : engines()) {
    CAPTURE(engine.name);
    std::string text;
    try {
      engine.run(build.graph);
    } catch (const StuckGraph& stuck) {
      text = stuck.what();
    }
    CHECK(text == kExpected);
  }
}

TEST_CASE("replay: the death of the engine is an error with its message, and not ours") {
  Builder build;
  build.transfer(build.route({build.link(0)}), 1e6);  // against REQUIRES: SimGrid aborts
  std::string text;
  try {
    replay_simgrid(build.graph);
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  CAPTURE(text);
  CHECK(text.find("the simgrid engine died: killed by signal 6 (Aborted)\n") == 0);
  CHECK(text.size() > 60);
  build.graph.links[0].bandwidth = {1e9};
  CHECK(relative_error(replay_simgrid(build.graph).makespan(), 1e-3) < 1e-12);
}

TEST_CASE("replay: nothing buffered is written twice, nothing comes from the child") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();  // so that our own output stays as it is
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    std::printf("before;");
    Builder build;
    build.transfer(build.route({build.link(1e9)}), 1e6);
    replay_simgrid(build.graph);
    std::fflush(stdout);
    _exit(0);
  }
  close(ends[1]);
  std::string text(100, '\0');
  std::size_t length = 0;
  for (ssize_t n = 1; n > 0; length += static_cast<std::size_t>(n))
    n = read(ends[0], text.data() + length, text.size() - length);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  CHECK(text.substr(0, length) == "before;");
}

TEST_CASE("replay: Ctrl-C stops a long replay and its child") {
  Builder build;  // unsynchronised flows on one link: tens of microseconds each
  const RouteId route = build.route({build.link(1e9)});
  std::mt19937 random(1);
  for (std::uint32_t op = 0; op < 400'000; ++op)
    build.transfer(route, uniform(random, 1e6, 2e6), 0, op < 512 ? Waits{} : Waits{op - 512});
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    setpgid(0, 0);  // a group of its own: as at a terminal, the signal reaches engine and parent
    catch_interrupts();
    try {
      replay_simgrid(build.graph);
    } catch (const Interrupted&) {
      _exit(42);
    }
    _exit(1);
  }
  setpgid(child, child);
  usleep(300'000);
  kill(-child, SIGINT);
  int status = 0;
  const auto before = std::chrono::steady_clock::now();
  waitpid(child, &status, 0);
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(4));  // not to its end
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
  CHECK(kill(-child, 0) != 0);  // nobody of the group is left
}

}  // namespace shardsim
