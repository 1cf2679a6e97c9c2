#include "plan/lifetimes.h"

#include <algorithm>
#include <utility>

#include "plan/reshard.h"

namespace shardsim {
namespace {

bool same_cuts(const Sharding& a, const Sharding& b) {
  return std::equal(
      a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
      [](const DimLayout& x, const DimLayout& y) { return x.dim == y.dim && x.axes == y.axes; });
}

Sharding summed(Sharding layout) {
  layout.unreduced.clear();
  return layout;
}

}  // namespace

int Lifetimes::make(LivingArray array) {
  arrays_.push_back(std::move(array));
  return static_cast<int>(arrays_.size()) - 1;
}

int Lifetimes::latest(std::string_view name) const {
  for (std::size_t i = arrays_.size(); i-- > 0;)
    if (arrays_[i].name == name) return static_cast<int>(i);
  return -1;
}

int Lifetimes::find(std::string_view name, const Sharding& layout) const {
  int fits = -1;
  for (std::size_t i = arrays_.size(); i-- > 0;) {
    if (arrays_[i].name != name) continue;
    if (same_cuts(arrays_[i].layout, layout)) return static_cast<int>(i);
    const bool smaller = fits < 0 || arrays_[i].bytes < at(fits).bytes;
    if (smaller && only_slices(summed(arrays_[i].layout), summed(layout)))
      fits = static_cast<int>(i);
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
