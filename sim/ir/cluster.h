// Cluster: devices on coordinate axes, the directed links they own, and the symmetry of both.
//
// A device is a point on the axes; its id is row-major, first axis major (JAX's order). Every
// device owns the same `ports`; directed link = device * ports + port. So "which link" factors into
// "whose" and "which kind", and folding a link is folding its owner:
//
//   ring:4          axes {x:4}          ports x+, x-      link of device 2 towards 3: 2*2 + 0
//   torus:4x2       axes {x:4, y:2}     ports x+, x-, y+  (one link joins the two of an axis of 2)
//   switch:8        axes {n:8}          ports up, down    egress and ingress of one device
//
// Bandwidth is stored per directed link (W1, bytes per second in one direction); the literature's W
// is derived (reference: JAX Scaling Book ch. 3 and 12; W = 2*W1 of a wrapped axis, egress on a
// switch).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace shardsim {

enum class DeviceId : std::uint32_t {};
enum class LinkId : std::uint32_t {};

// How the devices along one axis are joined.
enum class Wiring : std::uint8_t {
  ring,         // two directed links to each neighbour, wrapped
  ring_oneway,  // one directed link to the next neighbour, wrapped
  pair,         // an axis of size 2: one full-duplex cable, so one directed link each way
  star          // all devices of the cluster hang on one switch; shared by all its axes
};

struct Axis {
  std::string name;
  int size = 1;
  Wiring wiring = Wiring::ring;
};

struct Port {
  std::string name;       // "x+", "x-", "up", "down"
  int axis = 0;           // index into Cluster::axes; 0 for star ports
  BytesPerSec bandwidth;  // W1, already times the link efficiency
  Seconds latency;        // per hop; a star charges `up`'s once per route and `down` has 0
};

struct Cluster {
  std::string kind;         // row of the topology table: "ring", "ring-oneway", "torus", "switch"
  std::string text;         // as a person would write it: "torus:4x4x4"
  std::vector<Axis> axes;   // major first
  std::vector<Port> ports;  // owned by every device

  int devices() const;
  std::size_t link_count() const { return static_cast<std::size_t>(devices()) * ports.size(); }
  LinkId link(DeviceId device, int port) const;
  DeviceId owner(LinkId link) const;
  const Port& port(LinkId link) const;
  // The port of `axis` in direction +1 or -1; a pair and a one-way ring have only +1; a star's is
  // up.
  int port_of(int axis, int direction) const;
  std::string link_name(LinkId link) const;  // "x+ of device 3 (0,3)"

  std::vector<int> coordinates(DeviceId device) const;
  DeviceId device(std::span<const int> coordinates) const;
};

// A quotient of the cluster by translations (architecture D3): on axis i, the subgroup of shifts by
// multiples of step[i]. step = 1 everywhere: one class of devices. step = size: nothing is folded.
// REQUIRES: step[i] divides axes[i].size.
struct Fold {
  std::vector<int> step;

  static Fold full(const Cluster& cluster);    // G = {1}: every device its own class
  static Fold orbits(const Cluster& cluster);  // the whole translation group

  int classes() const;                                             // product of the steps
  DeviceId representative(const Cluster&, DeviceId device) const;  // coordinates modulo step
  std::uint32_t class_of(const Cluster&, DeviceId device) const;  // 0 .. classes() - 1
  std::vector<DeviceId> representatives(const Cluster&) const;    // [classes]
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
  std::vector<MeshAxis> axes;    // major first
  std::vector<AxisParts> apart = {};  // names that stand for several of them

  const MeshAxis* find(std::string_view name) const;      // nullptr when there is none
  int size_of(std::span<const std::string> names) const;  // product; REQUIRES each to exist
  std::vector<std::string> names() const;
  // The axes that a name stands for: itself, or its parts. Empty when there is none.
  std::vector<std::string> resolve(const std::string& name) const;
};

}  // namespace shardsim
