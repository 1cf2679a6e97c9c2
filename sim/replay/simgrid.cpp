// Measured on SimGrid 3.32; each choice below that looks odd is the one that is exact and fast:
//   - only ready ops are given to SimGrid, and only flows: latency and compute are dates in a heap
//   of
//     our own, with one SimGrid timer on the earliest;
//   - a flow is a parallel Exec on two hosts with one non-zero entry in its bytes matrix, which the
//     host model turns into an ordinary network flow, and which can be used again; a Comm costs ten
//     times as much, and its cost grows with the number alive;
//   - what has ended is read from the network model once per date. The completion signal is only
//   sent
//     for Execs that belong to the engine's own actor, whose list of them every completion scans;
//   - links have no latency: SimGrid would share bandwidth in inverse proportion to it.
#include "replay/simgrid.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <queue>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Exec.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/must.h"
#include "replay/walk.h"

namespace shardsim {

namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::resource::Model;
using simgrid::kernel::timer::Timer;

bool moves_bytes(const Op& op) {
  return op.kind == OpKind::transfer && op.bytes > Bytes{0};
}

// CM02 without its fitted constants is plain max-min sharing. The precision is in absolute seconds
// and merges events: 1e-9, the usual value, would put 0.2 % on an op of 1 us.
s4u::Engine& start_engine() {
  static constexpr std::array kArguments = {
      "shardsim",
      "--log=root.thresh:warning",  // it would echo every setting
      "--cfg=network/model:CM02",
      "--cfg=network/crosstraffic:0",
      "--cfg=network/TCP-gamma:0",
      "--cfg=network/bandwidth-factor:1",
      "--cfg=network/latency-factor:1",
      "--cfg=network/weight-S:0",
      "--cfg=surf/precision:1e-15",
  };
  std::vector<std::string> text(kArguments.begin(), kArguments.end());
  std::vector<char*> argv;
  for (std::string& argument : text) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(text.size());
  return *new s4u::Engine(&argc, argv.data());
}

// Execs made on another thread than the engine's belong to no actor.
std::vector<s4u::ExecPtr> make_execs(std::size_t count) {
  std::vector<s4u::ExecPtr> execs(count);
  std::thread([&] { std::ranges::generate(execs, [] { return s4u::Exec::init(); }); }).join();
  return execs;
}

// Routes stand in a square: the one in row r, column c leads from host r to host c of the other
// side. (A pair of hosts for each would be quadratic: the zone's table has hosts x hosts entries.)
struct Platform {
  Model* network = nullptr;
  std::vector<s4u::Host*> rows, columns;
  std::vector<std::size_t> place;  // [routes]; of those that carry bytes

  s4u::Host* from(RouteId id) const {
    return rows[place[static_cast<std::size_t>(id)] / columns.size()];
  }
  s4u::Host* to(RouteId id) const {
    return columns[place[static_cast<std::size_t>(id)] % columns.size()];
  }
};

std::vector<RouteId> used_routes(const OpGraph& graph) {
  std::vector<bool> used(graph.route_offset.size() - 1, false);
  for (const Op& op : graph.ops)
    if (moves_bytes(op)) used[static_cast<std::size_t>(op.route)] = true;
  std::vector<RouteId> routes;
  for (std::uint32_t id = 0; id < used.size(); ++id)
    if (used[id]) routes.push_back(RouteId{id});
  return routes;
}

std::vector<s4u::Host*> make_hosts(s4u::NetZone& zone, const std::string& prefix,
                                   std::size_t count) {
  std::vector<s4u::Host*> hosts(count);
  for (std::size_t i = 0; i < count; ++i) {
    hosts[i] = zone.create_host(prefix + std::to_string(i), 1.0);  // its speed is never used
    hosts[i]->seal();
  }
  return hosts;
}

Platform make_platform(const OpGraph& graph, s4u::NetZone& zone) {
  const std::vector<RouteId> routes = used_routes(graph);
  const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(routes.size())));
  Platform out{.network = dynamic_cast<Model*>(zone.get_network_model()),
               .rows = make_hosts(zone, "r", side),
               .columns = make_hosts(zone, "c", side),
               .place = std::vector<std::size_t>(graph.route_offset.size() - 1)};
  std::vector<s4u::Link*> links(graph.links.size(), nullptr);
  std::vector<s4u::LinkInRoute> path;
  for (std::size_t place = 0; place < routes.size(); ++place) {
    path.clear();
    for (const std::uint32_t id : graph.route(routes[place])) {
      if (links[id] == nullptr) {
        links[id] = zone.create_link(std::to_string(id), graph.links[id].bandwidth.v);
        links[id]->seal();
      }
      path.emplace_back(links[id]);
    }
    out.place[static_cast<std::size_t>(routes[place])] = place;
    zone.add_route(out.from(routes[place])->get_netpoint(), out.to(routes[place])->get_netpoint(),
                   nullptr, nullptr, path, /*symmetrical=*/false);
  }
  zone.seal();
  return out;
}

// A transfer that runs, or one that has run and may be started again.
struct Flow {
  s4u::ExecPtr exec;
  std::uint32_t op = 0;
  RouteId route = kNoRoute;  // that its hosts stand for
  Bytes bytes;
  bool busy = false;
  std::list<Flow>::iterator place;  // in a list of the pool
};

// Flows to be used again and again, best of all for what they carried before: then SimGrid need not
// be told again.
class FlowPool {
 public:
  FlowPool(std::vector<s4u::ExecPtr> first, std::size_t routes) : last_of_(routes, nullptr) {
    add(std::move(first));
  }

  // The one that had the route last, or else the one that has been free for longest.
  Flow& take(RouteId route) {
    if (free_.empty()) add(make_execs(count_));
    Flow*& last = last_of_[static_cast<std::size_t>(route)];
    if (last == nullptr || last->busy || last->route != route) last = &free_.front();
    last->busy = true;
    busy_.splice(busy_.end(), free_, last->place);
    return *last;
  }
  Flow& of(const simgrid::kernel::resource::Action& action) {
    const auto found = by_activity_.find(action.get_activity());
    must(found != by_activity_.end(), "every network action belongs to a flow of the pool");
    return *found->second;
  }
  // SimGrid is done with a flow only when it has looked at all that ended at this date.
  void give_back_later(Flow& flow) { resting_.splice(resting_.end(), busy_, flow.place); }
  void next_date() {
    for (Flow& flow : resting_) flow.busy = false;
    free_.splice(free_.end(), resting_);
  }

 private:
  void add(std::vector<s4u::ExecPtr> execs) {
    for (s4u::ExecPtr& exec : execs) {
      Flow& flow = free_.emplace_back();
      flow.exec = std::move(exec);
      flow.place = std::prev(free_.end());
      by_activity_.emplace(flow.exec->get_impl(), &flow);
    }
    count_ += execs.size();
  }

  std::list<Flow> free_, busy_, resting_;  // the first in the order in which they became free
  std::size_t count_ = 0;                  // of all three
  std::unordered_map<const simgrid::kernel::activity::ActivityImpl*, Flow*> by_activity_;
  std::vector<Flow*> last_of_;  // [routes] the flow that had it last, or null
};

// Computes on devices whose compute is shared with kernels of collectives (Hold): when they will
// end, as shares come and go.
class HeldComputes {
 public:
  explicit HeldComputes(const OpGraph& graph) : graph_(graph) {
    if (graph.holds.empty()) return;
    devices_.resize(graph.device_classes);
    for (std::uint32_t h = 0; h < graph.holds.size(); ++h) {
      changes_[graph.holds[h].first].push_back({h, +1});
      changes_[graph.holds[h].last].push_back({h, -1});
    }
  }

  bool any() const { return !devices_.empty(); }

  // A compute begins; returns when it ends as things are.
  Seconds begin(std::uint32_t op, Seconds now) {
    Device& device = devices_[graph_.ops[op].device];
    device.running.push_back({op, graph_.ops[op].seconds, now});
    return now + graph_.ops[op].seconds / device.rate();
  }
  // Whether the compute has had all of its time. Then it is forgotten.
  bool end(std::uint32_t op, Seconds now) {
    std::vector<Running>& running = devices_[graph_.ops[op].device].running;
    const auto at = std::ranges::find(running, op, &Running::op);
    if (at == running.end()) return false;
    const double rate = devices_[graph_.ops[op].device].rate();
    if (now < at->since + at->left / rate) return false;
    running.erase(at);
    return true;
  }
  // Calls again(op, when) for every compute whose end moves because `ended` has ended.
  template <class Again>
  void after(std::uint32_t ended, Seconds now, Again again) {
    const auto at = changes_.find(OpId{ended});
    if (at == changes_.end()) return;
    for (const auto& [hold, sign] : at->second) {
      Device& device = devices_[graph_.holds[hold].device];
      for (Running& one : device.running) {
        one.left = std::max(Seconds{}, one.left - (now - one.since) * device.rate());
        one.since = now;
      }
      device.held[graph_.holds[hold].communicator] += sign;
      device.shares[graph_.holds[hold].communicator] = graph_.holds[hold].share;
      for (const Running& one : device.running) again(one.op, now + one.left / device.rate());
    }
  }

 private:
  struct Running {
    std::uint32_t op = 0;
    Seconds left;   // at full rate
    Seconds since;  // of `left`
  };
  struct Device {
    std::map<std::uint32_t, int> held;  // by communicator: its kernels under way
    std::map<std::uint32_t, double> shares;
    std::vector<Running> running;

    double rate() const {
      double left = 1;
      for (const auto& [communicator, count] : held)
        if (count > 0) left -= shares.at(communicator);
      return left;
    }
  };
  struct Change {
    std::uint32_t hold = 0;
    int sign = 0;
  };

  const OpGraph& graph_;
  std::vector<Device> devices_;
  std::map<OpId, std::vector<Change>> changes_;
};

// An engine that has run nothing, with what every replay needs.
struct Engine {
  s4u::Engine* simgrid = nullptr;
  s4u::NetZone* zone = nullptr;
  std::vector<s4u::ExecPtr> execs;
};

Engine new_engine() {
  constexpr std::size_t kFlowsAtFirst = 64;
  Engine out;
  out.simgrid = &start_engine();
  out.zone = s4u::create_full_zone("net");
  out.execs = make_execs(kFlowsAtFirst);
  return out;
}

// Counts dependencies and feeds SimGrid.
class Replayer {
 public:
  Replayer(const OpGraph& graph, const Engine& engine, std::span<Seconds> start,
           std::span<Seconds> end, std::atomic<std::uint64_t>& ended)
      : graph_(graph),
        engine_(*engine.simgrid),
        held_(graph),
        pool_(engine.execs, graph.route_offset.size() - 1),
        platform_(make_platform(graph, *engine.zone)),
        after_(followers(graph)),
        missing_(wait_counts(graph)),
        start_(start),
        end_(end),
        ended_(ended) {}

  void run() {
    for (std::uint32_t op = 0; op < graph_.size(); ++op)
      if (missing_[op] == 0) ready_.push_back(op);
    start_ready();
    engine_.run();
  }

  // The clock has moved on, flows have ended or the timer's date has come.
  void on_date() {
    now_ = Seconds{s4u::Engine::get_clock()};
    pool_.next_date();
    for (const auto& action : *platform_.network->get_finished_action_set()) {
      Flow& flow = pool_.of(action);
      end_op(flow.op);
      pool_.give_back_later(flow);
    }
    start_ready();
  }

 private:
  struct Date {
    Seconds when;
    std::uint32_t op;
    auto operator<=>(const Date&) const = default;  // ties by id
  };

  // What is due, then what is ready because of it, until this date has no more. (A compute whose
  // end has moved to now is due at once: SimGrid would not stop at its present date again.)
  void start_ready() {
    do {
      while (is_due()) {
        const std::uint32_t op = dates_.top().op;
        dates_.pop();
        time_is_up(op);
      }
      start_all();
    } while (is_due());
    set_timer();
  }

  bool is_due() const { return !dates_.empty() && dates_.top().when <= now_; }

  // A list and no recursion: joins come in chains of any length.
  void start_all() {
    while (!ready_.empty()) {
      const std::uint32_t op = ready_.back();
      ready_.pop_back();
      start_[op] = now_;
      const bool held = held_.any() && graph_.ops[op].kind == OpKind::compute;
      const Seconds when = held ? held_.begin(op, now_) : now_ + graph_.ops[op].seconds;
      if (graph_.ops[op].kind == OpKind::join || when <= now_) {
        time_is_up(op);
      } else {
        dates_.push({.when = when, .op = op});
      }
    }
  }

  // The duration of a compute or delay, or the latency of a transfer, is over.
  void time_is_up(std::uint32_t op) {
    if (moves_bytes(graph_.ops[op])) {
      start_flow(op);
    } else if (held_.any() && graph_.ops[op].kind == OpKind::compute && !held_.end(op, now_)) {
      return;  // its end has moved; another date stands for it
    } else {
      end_op(op);
    }
  }

  void end_op(std::uint32_t op) {
    end_[op] = now_;
    ended_.store(++count_, std::memory_order_relaxed);  // somebody else only looks
    held_.after(op, now_, [this](std::uint32_t moved, Seconds when) {
      dates_.push({.when = when, .op = moved});
    });
    for (const std::uint32_t next : after_.of(op)) {
      if (--missing_[next] != 0) continue;
      ready_.push_back(next);
      __builtin_prefetch(&graph_.ops[next]);  // its turn comes after some thousand others
      __builtin_prefetch(&start_[next], 1);
      __builtin_prefetch(&end_[next], 1);
      __builtin_prefetch(&after_.offset[next]);
    }
  }

  void start_flow(std::uint32_t id) {
    const Op& op = graph_.ops[id];
    Flow& flow = pool_.take(op.route);
    flow.op = id;
    flow.exec->set_state(s4u::Activity::State::INITED);
    if (flow.route != op.route) {
      flow.route = op.route;
      ends_ = {platform_.from(op.route), platform_.to(op.route)};
      flow.exec->set_hosts(ends_);
    }
    if (flow.bytes != op.bytes) {
      flow.bytes = op.bytes;
      bytes_[1] = op.bytes.v;  // from host 0 to host 1
      flow.exec->set_bytes_amounts(bytes_);
    }
    flow.exec->start();
    if (op.flows != 1) flow.exec->update_priority(op.flows);
  }

  // The timer does nothing but make SimGrid stop at its date, where on_date is called.
  void set_timer() {
    if (dates_.empty() || (timer_ != nullptr && timer_date_ <= dates_.top().when)) return;
    if (timer_ != nullptr) timer_->remove();
    timer_date_ = dates_.top().when;
    timer_ = Timer::set(timer_date_.v, [this] {
      timer_ = nullptr;
      set_timer();
    });
  }

  const OpGraph& graph_;
  s4u::Engine& engine_;
  HeldComputes held_;
  FlowPool pool_;
  Platform platform_;
  Followers after_;
  std::vector<std::uint32_t> missing_;  // [ops] dependencies that have not ended
  std::span<Seconds> start_, end_;
  std::atomic<std::uint64_t>& ended_;
  std::uint64_t count_ = 0;  // the same
  Seconds now_;
  std::vector<std::uint32_t> ready_;
  std::priority_queue<Date, std::vector<Date>, std::greater<>> dates_;
  Timer* timer_ = nullptr;  // on the earliest date, or null
  Seconds timer_date_;
  std::vector<s4u::Host*> ends_;  // kept to spare an allocation each
  std::vector<double> bytes_ = std::vector<double>(4);
};

// That of this process or, after a fork, of its parent: as good as new while nothing has run in
// it. Never deleted: the process ends by _exit.
Engine& the_engine() {
  static Engine& engine = *new Engine(new_engine());
  return engine;
}

// Who replays. SimGrid keeps callbacks for good, over engines: there is one, for whoever it is.
Replayer* replayer = nullptr;

void listen_to_time() {
  static const bool listens = [] {
    s4u::Engine::on_time_advance_cb([](double) { replayer->on_date(); });
    return true;
  }();
  must(listens, "the callback is there once");
}

// EngineImpl::now_, which no header shows: taking an engine down does not set it back. Dates that
// begin elsewhere than at 0 would be rounded in another way.
double* simgrid_clock() {
  return static_cast<double*>(dlsym(RTLD_DEFAULT, "_ZN7simgrid6kernel10EngineImpl4now_E"));
}

void make_engine() {
  the_engine();
}

bool can_renew_engine() {
  return simgrid_clock() != nullptr;
}

void renew_engine() {
  Engine& engine = the_engine();
  engine.execs.clear();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  engine.simgrid->shutdown();  // "users are not supposed to"
#pragma GCC diagnostic pop
  *simgrid_clock() = 0;
  engine = new_engine();
}

void run(const OpGraph& graph, std::span<Seconds> start, std::span<Seconds> end,
         std::atomic<std::uint64_t>& ended) {
  Replayer one(graph, the_engine(), start, end, ended);
  replayer = &one;
  listen_to_time();
  one.run();
  replayer = nullptr;
}

}  // namespace

extern "C" {
extern const SimgridDoor shardsim_simgrid_door;
const SimgridDoor shardsim_simgrid_door = {make_engine, can_renew_engine, renew_engine, run};
}

}  // namespace shardsim
