#include "replay/engine_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/must.h"
#include "base/progress.h"
#include "base/sockets.h"
#include "replay/child.h"
#include "replay/simgrid.h"
#include "replay/walk.h"

namespace shardsim {

namespace {

// A graph of more operations is not worth writing to a socket: its replay costs more than a fork.
constexpr std::size_t kSentOps = 100'000;

// What the engine reads of a graph; names stay behind.
std::string to_bytes(const OpGraph& graph) {
  std::string out;
  put_list(graph.ops, out);
  put_list(graph.dep_offset, out);
  put_list(graph.deps, out);
  std::vector<BytesPerSec> bandwidths;
  for (const NetLink& link : graph.links) bandwidths.push_back(link.bandwidth);
  put_list(bandwidths, out);
  put_list(graph.route_offset, out);
  put_list(graph.route_links, out);
  put_list(graph.holds, out);
  put(graph.phases, out);
  put(graph.device_classes, out);
  return out;
}

OpGraph graph_of(std::string_view bytes) {
  OpGraph graph;
  graph.ops = take_list<std::vector<Op>>(bytes);
  graph.dep_offset = take_list<std::vector<std::uint32_t>>(bytes);
  graph.deps = take_list<std::vector<OpId>>(bytes);
  for (const BytesPerSec bandwidth : take_list<std::vector<BytesPerSec>>(bytes))
    graph.links.push_back({.name = {}, .bandwidth = bandwidth});
  graph.route_offset = take_list<std::vector<std::uint32_t>>(bytes);
  graph.route_links = take_list<std::vector<std::uint32_t>>(bytes);
  graph.holds = take_list<std::vector<Hold>>(bytes);
  graph.phases = take<std::uint32_t>(bytes);
  graph.device_classes = take<std::uint32_t>(bytes);
  return graph;
}

Timeline replay_in_child(const OpGraph& graph) {
  const SharedSeconds start(graph.size()), end(graph.size());
  const SharedCount shared(1);
  std::atomic<std::uint64_t>& ended = shared.values().front();
  Progress progress("operations replayed", graph.size());
  const SimgridDoor& door = simgrid();  // loaded here, for the next child too
  const Child child = start_child([&] {
    // The first to touch the pages: parent and child would both pay for them.
    std::ranges::fill(start.values(), kNever);
    std::ranges::fill(end.values(), kNever);
    door.run(graph, start.values(), end.values(), ended);
  });
  finish_child(child, [&] { progress.at(ended.load(std::memory_order_relaxed)); });
  return {.start = {start.values().begin(), start.values().end()},
          .end = {end.values().begin(), end.values().end()}};
}

// What a callback of SimGrid costs is paid by every later engine: with so many it is a twentieth.
constexpr int kGraphsOfAnEngine = 200;

// Whether graphs are answered by times or by what went wrong, and whether more may be sent.
struct Verdict {
  bool replayed = false;
  bool more = false;
};

// Instead of times. False: nobody is there to read it.
bool answer_error(int socket, const std::exception& error) {
  std::string answer;
  put(Verdict{}, answer);
  put_list(std::string(error.what()), answer);
  return send_message(socket, answer);
}

// Graphs in, times out, until there are no more or the process has done its share.
void serve_graphs(int socket, const SimgridDoor& door) {
  for (int i = 1; const auto request = receive_message(socket); ++i) {
    if (i > 1) door.renew_engine();
    const OpGraph graph = graph_of(*request);
    std::vector<Seconds> start(graph.size(), kNever), end(graph.size(), kNever);
    std::atomic<std::uint64_t> ended = 0;
    door.run(graph, start, end, ended);
    const Verdict verdict{.replayed = true,
                          .more = i < kGraphsOfAnEngine && door.can_renew_engine()};
    std::string answer;
    put(verdict, answer);
    put_list(start, answer);
    put_list(end, answer);
    if (!send_message(socket, answer) || !verdict.more) return;
  }
}

void engine_main(int socket) {
  // Nobody reads what we say unless we die: it must not fill the pipe and keep us waiting.
  fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
  if (!has_bytes(socket)) return;  // a command that fails, or lists, replays nothing
  try {
    const SimgridDoor& door = simgrid();
    door.make_engine();
    serve_graphs(socket, door);
  } catch (const std::exception& error) {
    answer_error(socket, error);
  }
}

// A process that has an engine, for as long as this lives.
class EngineProcess {
 public:
  EngineProcess() {
    child_ = start_child([this] {
      close(sockets_.mine);
      engine_main(sockets_.theirs);
    });
    close(sockets_.theirs);
  }
  ~EngineProcess() {
    close(sockets_.mine);
    if (child_) kill_child(*child_);  // it keeps nothing, and may replay what nobody waits for
  }
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // The answer to the graph, from its verdict on.
  std::string ask(const OpGraph& graph) {
    std::optional<std::string> answer;
    if (send_message(sockets_.mine, to_bytes(graph))) answer = receive_message(sockets_.mine);
    throw_if_interrupted();
    if (answer) return *std::move(answer);
    const Child dead = *std::exchange(child_, std::nullopt);
    finish_child(dead, [] {});
    throw std::runtime_error("the simgrid engine died: its process is gone");
  }

 private:
  SocketPair sockets_ = make_sockets();
  std::optional<Child> child_;  // until it has died
};

// The engine that replays go to. Whoever asks takes it, and gives it back if it may be asked again.
struct Ready {
  bool wanted = false;
  std::unique_ptr<EngineProcess> engine;
};
Ready ready;

Timeline ask_ready_engine(const OpGraph& graph) {
  std::unique_ptr<EngineProcess> engine = std::exchange(ready.engine, nullptr);
  if (engine == nullptr) engine = std::make_unique<EngineProcess>();
  const std::string answer = engine->ask(graph);
  std::string_view bytes = answer;
  const auto verdict = take<Verdict>(bytes);
  if (!verdict.replayed) throw std::runtime_error(take_list<std::string>(bytes));
  if (verdict.more) ready.engine = std::move(engine);
  Timeline timeline;
  timeline.start = take_list<std::vector<Seconds>>(bytes);
  timeline.end = take_list<std::vector<Seconds>>(bytes);
  must(timeline.end.size() == graph.size(), "an answer is that to the graph that was sent");
  return timeline;
}

// While it lives, replays of this process go to an engine of its own: one from before a fork
// answers our parent.
class ReadyScope {
 public:
  ReadyScope() = default;
  ~ReadyScope() { ready = std::move(outer_); }
  ReadyScope(const ReadyScope&) = delete;
  ReadyScope& operator=(const ReadyScope&) = delete;

 private:
  Ready outer_ =
      std::exchange(ready, {.wanted = true, .engine = std::make_unique<EngineProcess>()});
};

}  // namespace

Timeline replay_in_process(const OpGraph& graph) {
  return ready.wanted && graph.size() <= kSentOps ? ask_ready_engine(graph)
                                                  : replay_in_child(graph);
}

void with_engine_ready(const std::function<void()>& work) {
  const ReadyScope scope;
  work();
}

}  // namespace shardsim
