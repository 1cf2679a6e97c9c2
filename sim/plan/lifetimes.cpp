#include "plan/lifetimes.h"

#include <algorithm>
#include <utility>

#include "base/must.h"
#include "base/same_name.h"

namespace shardsim {
namespace {

// The number of an axis from 1; 0: it cuts nothing.
char number_of(const Mesh& mesh, const std::string& name) {
  for (std::size_t a = 0; a < mesh.axes.size(); ++a)
    if (same_name(mesh.axes[a].name, name))
      return mesh.axes[a].size > 1 ? static_cast<char>(a + 1) : '\0';
  must(false, "layouts are cut over axes of the mesh");
  return '\0';
}

}  // namespace

Cuts cuts_of(const Mesh& mesh, const Sharding& layout) {
  must(mesh.axes.size() < 127, "numbers of axes are single characters");
  Cuts cuts;
  cuts.dims.resize(layout.dims.size() + mesh.axes.size());  // an axis stands in one place
  std::size_t at = 0;
  for (const DimLayout& dim : layout.dims) {
    for (const std::string& axis : dim.axes)
      if (const char number = number_of(mesh, axis)) cuts.dims[at++] = number;
    cuts.dims[at++] = '\0';
  }
  cuts.dims.resize(at);
  for (const std::string& axis : layout.unreduced)
    if (const char number = number_of(mesh, axis)) cuts.sums += number;
  std::sort(cuts.sums.begin(), cuts.sums.end());
  return cuts;
}

bool cut_from(const std::string& from, const std::string& to) {
  std::size_t at = 0;
  for (const char axis : from) {
    while (axis == '\0' && at < to.size() && to[at] != '\0') ++at;  // cut further
    if (at == to.size() || to[at++] != axis) return false;
  }
  return at == to.size();
}

int Lifetimes::make(LivingArray array) {
  const auto index = static_cast<int>(arrays_.size());
  int before = -1;
  if (array.name >= 0) {
    const auto name = static_cast<std::size_t>(array.name);
    if (name >= latest_.size()) latest_.resize(name + 1, -1);
    before = std::exchange(latest_[name], index);
  }
  before_.push_back(before);
  arrays_.push_back(std::move(array));
  return index;
}

int Lifetimes::latest(int name) const {
  const auto at = static_cast<std::size_t>(name);
  return at < latest_.size() ? latest_[at] : -1;
}

int Lifetimes::find(int name, const Cuts& layout) const {
  int fits = -1;
  for (int i = latest(name); i >= 0; i = before_[static_cast<std::size_t>(i)]) {
    if (at(i).layout.dims == layout.dims) return i;
    const bool smaller = fits < 0 || at(i).bytes < at(fits).bytes;
    if (smaller && cut_from(at(i).layout.dims, layout.dims)) fits = i;
  }
  return fits;
}

void Lifetimes::read(int array, int at) {
  LivingArray& read = (*this)[array];
  read.last = std::max(read.last, at);
}

namespace {

struct Buffer {
  Lifetime life;
  int last = -1;  // read, of all its arrays
  bool leaves = false;
};

// Who writes, or hands the buffer on, must be alone with it.
bool may_take(const LivingArray& array, const Buffer& other) {
  if (array.bytes != other.life.bytes) return false;
  const bool alone = other.last <= array.made && !other.leaves;
  return alone || (array.sharing == Sharing::same && array.leaves_at < 0);
}

}  // namespace

std::vector<Lifetime> Lifetimes::buffers() const {
  std::vector<Buffer> buffers;
  std::vector<std::size_t> buffer_of;
  std::vector<Lifetime> lives;
  for (const LivingArray& array : arrays_) {
    std::size_t mine = buffers.size();
    if (array.sharing != Sharing::none) {
      const std::size_t other = buffer_of[static_cast<std::size_t>(array.comes_from)];
      if (may_take(array, buffers[other])) mine = other;
    }
    if (mine == buffers.size()) {
      buffers.push_back(
          {{array.kind, array.bytes, array.was_there ? -1 : array.made, array.made}, -1, false});
    }
    buffer_of.push_back(mine);
    Buffer& b = buffers[mine];
    const bool leaves = array.leaves_at >= 0;
    b.leaves = b.leaves || leaves;
    b.last = std::max(b.last, array.last);
    b.life.to = std::max({b.life.to, array.made, array.last});
    // What others have taken over is still read here: it is there once more.
    if (leaves && array.last > array.leaves_at)
      lives.push_back({array.kind, array.bytes, array.leaves_at + 1, array.last});
  }
  for (Buffer& b : buffers) {
    if (b.leaves) b.life.to = -1;
    lives.push_back(b.life);
  }
  std::erase_if(lives, [](const Lifetime& l) { return l.bytes == Bytes{}; });
  return lives;
}

}  // namespace shardsim
