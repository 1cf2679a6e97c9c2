#include "replay/engine_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
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

int ready_engine = -1;  // socket to the process that has one

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
  run_in_child(
      [&] {  // which is the first to touch the pages: both would pay for them
        std::ranges::fill(start.values(), kNever);
        std::ranges::fill(end.values(), kNever);
        door.run(graph, start.values(), end.values(), ended);
      },
      [&] { progress.at(ended.load(std::memory_order_relaxed)); });
  return {.start = {start.values().begin(), start.values().end()},
          .end = {end.values().begin(), end.values().end()}};
}

// What a callback of SimGrid costs is paid by every later engine: with so many it is a twentieth.
constexpr int kGraphsOfAChild = 200;

// Graphs in, times out, until there are no more or the child has done its share.
void serve_graphs(int socket) {
  for (int i = 0; i < kGraphsOfAChild; ++i) {
    const auto request = receive_message(socket);
    if (!request) return;
    const OpGraph graph = graph_of(*request);
    std::vector<Seconds> start(graph.size(), kNever), end(graph.size(), kNever);
    std::atomic<std::uint64_t> ended = 0;
    simgrid().run(graph, start, end, ended);
    std::string answer;
    put(true, answer);
    put_list(start, answer);
    put_list(end, answer);
    if (!send_message(socket, answer) || !simgrid().renew_engine()) return;
  }
}

// Instead of times. False: nobody is there to read it.
bool answer_error(int socket, const std::exception& error) {
  std::string answer;
  put(false, answer);
  put_list(std::string(error.what()), answer);
  return send_message(socket, answer);
}

// One child after the other. One that dies owes an answer: what it died of.
void keep_serving(int socket) {
  while (has_bytes(socket)) {
    try {
      run_in_child([&] { serve_graphs(socket); }, [] {}, true);
    } catch (const std::exception& error) {
      if (!answer_error(socket, error)) return;
    }
  }
}

[[noreturn]] void engine_main(int socket, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the parent die, so do we
  if (getppid() != parent) _exit(1);
  // Ctrl-C reaches the whole group: the process that asks decides, and takes us along.
  for (const int signal : {SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);
  if (!has_bytes(socket)) _exit(0);  // a command that fails, or lists, replays nothing
  try {
    simgrid();
  } catch (const std::exception& error) {
    answer_error(socket, error);
    _exit(1);
  }
  run_on_large_stack([&] {
    simgrid().make_engine();
    for (const int signal : {SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);  // SimGrid has its own
    keep_serving(socket);
  });
  _exit(0);
}

Timeline ask_ready_engine(const OpGraph& graph) {
  std::optional<std::string> answer;
  if (send_message(ready_engine, to_bytes(graph))) answer = receive_message(ready_engine);
  std::string_view bytes;
  if (answer) bytes = *answer;
  const bool replayed = answer && take<bool>(bytes);
  // Whatever comes later may be the answer to an earlier graph: from now on each graph forks.
  if (!replayed) ready_engine = -1;
  throw_if_interrupted();
  if (!answer) throw std::runtime_error("the simgrid engine died: its process is gone");
  if (!replayed) throw std::runtime_error(take_list<std::string>(bytes));
  Timeline timeline;
  timeline.start = take_list<std::vector<Seconds>>(bytes);
  timeline.end = take_list<std::vector<Seconds>>(bytes);
  must(timeline.end.size() == graph.size(), "an answer is that to the graph that was sent");
  return timeline;
}

// The process that has an engine, for as long as this lives.
class ReadyEngine {
 public:
  ReadyEngine() {
    std::fflush(nullptr);  // what is buffered must not be written twice
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      close(sockets_.mine);
      engine_main(sockets_.theirs, parent);
    }
    close(sockets_.theirs);
    if (pid_ > 0) ready_engine = sockets_.mine;  // otherwise every replay forks by itself
  }
  ~ReadyEngine() {
    ready_engine = -1;
    close(sockets_.mine);
    if (pid_ > 0) kill(pid_, SIGKILL);  // it keeps nothing, and may replay what nobody waits for
    while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ReadyEngine(const ReadyEngine&) = delete;
  ReadyEngine& operator=(const ReadyEngine&) = delete;

 private:
  SocketPair sockets_ = make_sockets();
  pid_t pid_ = -1;
};

}  // namespace

Timeline replay_in_process(const OpGraph& graph) {
  return ready_engine >= 0 && graph.size() <= kSentOps ? ask_ready_engine(graph)
                                                       : replay_in_child(graph);
}

void with_engine_ready(const std::function<void()>& work) {
  const ReadyEngine engine;
  work();
}

}  // namespace shardsim
