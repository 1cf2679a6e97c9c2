// Worker processes: tasks in, answers out, whatever happens to a worker.
//
// Every worker has a socket to the parent. It reads tasks (24 bytes), answers each in order (its
// length, then its bytes) and ends when the socket closes. A worker that dies or takes too long for
// a task is replaced: that task has failed, the others that it had go to its successor.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace shardsim {

struct PointTask {
  std::uint64_t point = 0;
  std::uint64_t kind = 0;
  double limit = 0;
};

struct PointDone {
  PointTask task;
  std::optional<std::string> answer;  // nothing: the task has failed
  std::string failure;                // "killed by signal 11", "no answer in 60 s"
};

class Workers {
 public:
  using Work = std::function<std::string(const PointTask&)>;

  // What a worker does all its life runs inside this, which may prepare the process for it.
  using Around = std::function<void(const std::function<void()>&)>;

  // Starts `jobs` processes.
  Workers(int jobs, Work work, std::optional<Seconds> timeout, Around around);
  ~Workers();  // kills them
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Whether a worker has room for a task: none that waits for it, with `at_once`, or few.
  bool has_room(bool at_once = false) const;
  // To the one that has fewest.
  void give(const PointTask& task);
  // Waits until something is done, or for a moment. Throws Interrupted.
  std::vector<PointDone> wait();

 private:
  struct Worker {
    int pid = -1;
    int socket = -1;
    std::deque<PointTask> tasks;  // given, not answered; the first is being done
    std::string bytes;            // of an answer that is not whole
    double since_s = 0;           // the first task is being done
  };
  void start(Worker& worker);
  void stop(Worker& worker);
  void send(Worker& worker, const PointTask& task);
  void read_from(Worker& worker, std::vector<PointDone>& done);
  void fail_first(Worker& worker, std::string why, std::vector<PointDone>& done);

  Work work_;
  std::optional<Seconds> timeout_;
  Around around_;
  std::vector<Worker> workers_;
};

}  // namespace shardsim
