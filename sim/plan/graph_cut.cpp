#include "plan/graph_cut.h"

#include <algorithm>
#include <bit>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edmonds_karp_max_flow.hpp>
#include <cstdint>
#include <vector>

namespace shardsim {

namespace {

constexpr int kMostDevices = 16;  // 12,870 flows

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct Pipe {
  double capacity = 0;  // bytes per second
  double left = 0;
  Traits::edge_descriptor reverse = {};
};
using Pipes =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Pipe>;

// The links of a graph, and a source and a sink that one half and the other are joined with.
class Halves {
 public:
  explicit Halves(const Cluster& cluster) : devices_(cluster.devices()) {
    const std::size_t nodes = static_cast<std::size_t>(devices_) + cluster.switches.size();
    pipes_ = Pipes(nodes + 2);
    source_ = nodes;
    sink_ = nodes + 1;
    for (std::size_t i = 0; i < cluster.cables.size(); ++i) {
      const NodeLink& cable = cluster.cables[i];
      const LinkChange is =
          cluster.figures(LinkId{static_cast<std::uint32_t>(cluster.port_links() + i)});
      add(cable.from, cable.to, is.missing ? 0 : is.bandwidth / BytesPerSec{1});
      all_ += is.bandwidth / BytesPerSec{1};
    }
    for (int d = 0; d < devices_; ++d) {
      const auto device = static_cast<std::size_t>(d);
      from_source_.push_back(add(source_, device, 0));
      to_sink_.push_back(add(device, sink_, 0));
    }
  }

  // From the devices whose bits are set to the others.
  double flow(std::uint32_t senders) {
    for (int d = 0; d < devices_; ++d) {
      const auto device = static_cast<std::size_t>(d);
      const bool sends = (senders >> d & 1u) != 0;
      pipes_[from_source_[device]].capacity = sends ? all_ : 0;
      pipes_[to_sink_[device]].capacity = sends ? 0 : all_;
    }
    return boost::edmonds_karp_max_flow(pipes_, source_, sink_,
                                        boost::capacity_map(get(&Pipe::capacity, pipes_))
                                            .residual_capacity_map(get(&Pipe::left, pipes_))
                                            .reverse_edge_map(get(&Pipe::reverse, pipes_)));
  }

 private:
  Traits::edge_descriptor add(std::size_t from, std::size_t to, double capacity) {
    const Traits::edge_descriptor there = boost::add_edge(from, to, pipes_).first;
    const Traits::edge_descriptor back = boost::add_edge(to, from, pipes_).first;
    pipes_[there] = {capacity, 0, back};
    pipes_[back] = {0, 0, there};
    return there;
  }

  int devices_;
  double all_ = 0;  // more than any flow
  Pipes pipes_;
  std::size_t source_ = 0, sink_ = 0;
  std::vector<Traits::edge_descriptor> from_source_, to_sink_;  // [devices]
};

}  // namespace

std::optional<BytesPerSec> graph_bisection(const Cluster& cluster) {
  const int devices = cluster.devices();
  if (devices < 2 || devices > kMostDevices) return std::nullopt;
  Halves halves(cluster);
  std::optional<double> least;
  for (std::uint32_t senders = 1; senders < 1u << devices; ++senders) {
    const int count = std::popcount(senders);
    if (count != devices / 2 && count != (devices + 1) / 2) continue;
    const double flow = halves.flow(senders);
    least = least ? std::min(*least, flow) : flow;
  }
  return BytesPerSec{*least};
}

}  // namespace shardsim
