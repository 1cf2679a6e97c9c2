// Reductions of gradients once per step, put together: those of one layer, or until they are as
// large as a bucket (PyTorch DDP, Li et al. 2020, arXiv 2006.15704, section 4.2). `Ready` says when
// the last gradient of a bucket is there: ops while a step is lowered, seconds in a bound of it.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"
#include "plan/layer_tasks.h"

namespace shardsim {

template <class Ready>
struct GradientBucket {
  ShardedCollective what;  // of all its bytes
  const AlgorithmRow* algorithm = nullptr;
  int tensors = 0;
  Ready ready = {};
};

template <class Ready>
class GradientBuckets {
 public:
  using Bucket = GradientBucket<Ready>;

  explicit GradientBuckets(Bytes size) : size_(size) {}  // 0: one layer's

  // Adds a task's; calls reduce(bucket) when that is full. Reductions over other axes, of another
  // kind or by another algorithm have a bucket of their own.
  template <class Reduce>
  void add(const Task& task, const Ready& ready, Reduce reduce) {
    const ShardedCollective& c = *task.collective;
    auto at = std::find_if(buckets_.begin(), buckets_.end(), [&](const Bucket& b) {
      return b.what.kind == c.kind && b.what.axes == c.axes && b.algorithm == task.algorithm;
    });
    if (at == buckets_.end()) {
      buckets_.push_back({c, task.algorithm, 0, {}});
      at = buckets_.end() - 1;
      at->what.bytes = {};
    }
    at->what.bytes += c.bytes;
    if (++at->tensors > 1) at->what.tensor = "gradients";
    at->ready = ready;
    if (size_ > Bytes{} && at->what.bytes >= size_) {
      reduce(*at);
      buckets_.erase(at);
    }
  }

  // At the end of a layer, the last of its work or not.
  template <class Reduce>
  void end_layer(bool last, Reduce reduce) {
    if (size_ > Bytes{} && !last) return;
    for (const Bucket& bucket : buckets_) reduce(bucket);
    buckets_.clear();
  }

 private:
  Bytes size_;
  std::vector<Bucket> buckets_;
};

}  // namespace shardsim
