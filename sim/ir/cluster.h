// Cluster: devices on coordinate axes, the directed links they own, and the symmetry of both.
//
// A device is a point on the axes; its id is row-major, first axis major (JAX's order). Every
// device owns the same `ports`; directed link = device * ports + port. So "which link" factors into
// "whose" and "which kind", and folding a link is folding its owner:
//
//   ring:4          axes {x:4}          ports x+, x-      link of device 2 towards 3: 2*2 + 0
//   torus:4x2       axes {x:4, y:2}     ports x+, x-, y+  (one link joins the two of an axis of 2)
//   mesh:4x4        axes {x:4, y:4}     as a torus; the links past the ends lead nowhere
//   switch:8        axes {n:8}          ports up, down    egress and ingress of one device
//   2 x 8 GPUs      axes {ib:2, nvlink:8}  ports nvlink up, nvlink down, ib up, ib down
//   a graph         axes {device:8}     no ports; links by hand between devices and switches
//
// A link may differ from its port (`changed`), and a chip from the others (`speed`); what is
// changed alike along an axis keeps that axis's symmetry.
//
// A port may serve a block of devices (a NIC of two GPUs, the uplinks of a leaf switch): the
// block's first device owns it, and the others own nothing there.
//
// A hardware axis may be taken apart into several: ring:16 as X = 4 (neighbours are 4 links apart)
// and Y = 4 (part of a ring: a line). The parts lie side by side, major first, and share
// `hardware`.
//
// Bandwidth is stored per directed link (W1, bytes per second in one direction); the literature's W
// is derived (reference: JAX Scaling Book ch. 3 and 12; W = 2*W1 of a wrapped axis, egress on a
// switch).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace shardsim {

enum class DeviceId : std::uint32_t {};
enum class LinkId : std::uint32_t {};

// How the devices along one axis are joined.
enum class Wiring : std::uint8_t {
  ring,         // two directed links to each neighbour, wrapped
  ring_oneway,  // one directed link to the next neighbour, wrapped
  line,         // two directed links to each neighbour, no wrap
  pair,         // an axis of size 2: one full-duplex cable, so one directed link each way
  star,         // all devices hang on one switch; shared by all axes of the level
  full_mesh,    // a cable between any two devices
  graph         // links written one by one; a device's neighbours are those next in number
};

struct Axis {
  std::string name;
  int size = 1;
  Wiring wiring = Wiring::ring;  // of the hardware axis
  int hardware = 0;              // axes that are parts of one hardware axis share this number, the
                                 // index of that axis when the cluster was made
  int stride = 1;                // links between neighbours: product of the minor parts' sizes
  int level = 0;                 // index into Cluster::levels

  bool operator==(const Axis&) const = default;
};

// Axes whose devices are joined by one kind of network: the ICI of a slice, NVLink of a node, the
// leaves and spines above. Innermost first.
struct Level {
  std::string name;
  std::string kind;       // row of the topology table
  Seconds latency;        // per hop of a grid; per route through a switch
  BytesPerSec bandwidth;  // of a link or port as stated; 0: a switch without ports of its own
  double efficiency = 1;  // factor on it
  std::vector<int> up;    // star: ports that a route climbs from a device to this level's switch
  std::vector<int> down;  // and those that it descends to the destination, the same ones mirrored
  bool rails = false;     // star: one switch for each position inside (rail-optimised)
  bool reduces = false;   // the switch can add (NVLS, SHARP)

  bool operator==(const Level&) const = default;
};

struct Port {
  std::string name;       // "x+", "x-", "up", "nvlink down"
  int axis = 0;           // index into Cluster::axes; of a star, the first axis of its level
  BytesPerSec bandwidth;  // W1, already times the link efficiency
  Seconds latency;        // per hop; a star charges its level's once per route
  int direction = 1;      // grid: +1 or -1; full mesh: displacement; star: +1 up, -1 down
  // [axes] devices that share the port, as a block of coordinates; empty: it is one device's own.
  std::vector<int> block = {};

  bool operator==(const Port&) const = default;
};

// One directed link of an explicit graph. Nodes are the devices, by number, then the switches.
struct NodeLink {
  std::uint32_t from = 0, to = 0;
  BytesPerSec bandwidth;  // W1
  Seconds latency;

  bool operator==(const NodeLink&) const = default;
};

// A link as it is instead of as its port or the graph says.
struct LinkChange {
  BytesPerSec bandwidth;
  Seconds latency;
  bool missing = false;

  bool operator==(const LinkChange&) const = default;
};

struct Cluster {
  std::string kind;                   // row of the topology table: "ring", "torus", "levels", …
  std::string text;                   // as a person would write it: "torus:4x4x4"
  std::vector<Axis> axes;             // major first
  std::vector<Port> ports;            // owned by every device, or by the first of a block
  std::vector<Level> levels;          // innermost first
  std::vector<std::string> switches;  // of an explicit graph
  std::vector<NodeLink> cables;       // its links; their ids follow those of the ports
  std::map<LinkId, LinkChange> changed;  // links that are not as their port or cable says
  std::map<DeviceId, double> speed;      // of compute, of the chips for which it is not 1

  bool operator==(const Cluster&) const = default;
  int devices() const;
  std::size_t link_count() const { return port_links() + cables.size(); }
  std::size_t port_links() const { return static_cast<std::size_t>(devices()) * ports.size(); }
  LinkChange figures(LinkId link) const;  // as it is
  BytesPerSec bandwidth(LinkId link) const { return figures(link).bandwidth; }
  Seconds latency(LinkId link) const { return figures(link).latency; }
  bool missing(LinkId link) const { return figures(link).missing; }
  double speed_of(DeviceId device) const;
  std::string node_name(std::uint32_t node) const;  // "3", "leaf0"
  // The same with its place where there are several axes: "3 (0,3)".
  std::string node_place(std::uint32_t node) const;
  LinkId link(DeviceId device, int port) const;  // of the block that the device is in
  DeviceId owner(LinkId link) const;             // REQUIRES: of a port
  const Port& port(LinkId link) const;           // REQUIRES: of a port
  // The port of `axis` in direction +1 or -1 (full mesh: the displacement, modulo its size); a pair
  // and a one-way ring have only +1; a star's is the first that a route climbs.
  int port_of(int axis, int direction) const;
  int sharers(const Port& port) const;       // devices of its block
  std::string link_name(LinkId link) const;  // "x+ of device 3 (0,3)", "0 to leaf0"

  // The axes [first, last) that are parts of the same hardware axis as `axis`.
  std::pair<int, int> parts_of(int axis) const;
  int span_of(int axis) const;   // devices along that hardware axis
  bool wraps(int axis) const;    // going on along the axis leads back to where one started
  bool uniform(int axis) const;  // a step along the axis, its last wrapped, is a symmetry of links

  std::vector<int> coordinates(DeviceId device) const;
  DeviceId device(std::span<const int> coordinates) const;
};

// Takes axis `axis` apart into a major part of `major` devices and the rest; indices of later axes
// grow by one. REQUIRES: major divides the size; not a pair, not a one-way ring.
void split_axis(Cluster& cluster, int axis, int major);

// A quotient of the cluster by translations (architecture D3): on axis i, the subgroup of shifts by
// multiples of step[i]. step = 1 everywhere: one class of devices. step = size: nothing is folded.
// REQUIRES: step[i] divides axes[i].size.
struct Fold {
  std::vector<int> step;

  bool operator==(const Fold&) const = default;

  static Fold full(const Cluster& cluster);    // G = {1}: every device its own class
  static Fold orbits(const Cluster& cluster);  // the whole translation group: ends of lines, parts
                                               // of rings, blocks of ports, explicit graphs and
                                               // single links and chips that differ shrink it

  int classes() const;                                             // product of the steps
  DeviceId representative(const Cluster&, DeviceId device) const;  // coordinates modulo step
  std::uint32_t class_of(const Cluster&, DeviceId device) const;   // 0 .. classes() - 1
  std::vector<DeviceId> representatives(const Cluster&) const;     // [classes]
  // The number of a link's orbit: those of ports by the class of their owner, then explicit links,
  // which nothing folds.
  std::uint32_t orbit_of(const Cluster&, LinkId link) const;
  // How many translations of the group map a link of the port onto itself: so many times is it
  // loaded by an orbit of messages that each pass it once.
  int stabiliser(const Cluster&, const Port& port) const;
};

// Logical mesh axis: a name, and the hardware axes it spans, major first. Its size is their
// product.
struct MeshAxis {
  std::string name;
  int size = 1;
  std::vector<int> axes;  // indices into Cluster::axes
};

// A mesh axis of the run that was taken apart: Y = 16 as Y1 = 8 and Y2 = 2.
struct AxisParts {
  std::string axis;
  std::vector<std::string> parts;  // names in Mesh::axes, major first
};

struct Mesh {
  std::vector<MeshAxis> axes;         // major first
  std::vector<AxisParts> apart = {};  // names that stand for several of them

  const MeshAxis* find(std::string_view name) const;      // nullptr when there is none
  int size_of(std::span<const std::string> names) const;  // product; REQUIRES each to exist
  std::vector<std::string> names() const;
  // The axes that a name stands for: itself, or its parts. Empty when there is none.
  std::vector<std::string> resolve(const std::string& name) const;
};

}  // namespace shardsim
