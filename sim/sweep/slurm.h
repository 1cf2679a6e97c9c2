// A sweep as one array job of Slurm: a task for every shard, each with a database of its own.
//
// Nothing is hidden: what is submitted is one `sbatch … --wrap` line, which is printed. A shard
// that is done is not submitted again; one that was begun is resumed.
#pragma once

#include <string>
#include <vector>

#include "report/json.h"
#include "sweep/points.h"

namespace shardsim {

struct SlurmJob {
  std::string file;    // of the sweep
  std::string folder;  // of databases and logs
  int shards = 1;
  std::string jobs;                 // worker processes of a task; empty: as many as its CPUs
  std::vector<std::string> sbatch;  // more options of it
};

// Which shards need a task, and why.
struct ShardStates {
  std::vector<int> missing, unfinished, failed;  // failed: done, but some of its points failed
  std::vector<int> running;                      // another process writes the database now
  std::vector<int> open() const;                 // those to submit, ascending
};

// Throws ConfigError when a database in the folder is none of this sweep.
ShardStates shard_states(const SlurmJob& job, const SweepSpec& spec, const PointList& list);

// "0-7", "1,3,6-9".
std::string array_text(const std::vector<int>& shards);

// What submits the shards: the words of one command. `program`: this one.
std::vector<std::string> sbatch_words(const SlurmJob& job, const std::string& name,
                                      const std::vector<int>& shards, const std::string& program);

struct Submitted {
  std::string id;       // of the job; empty: there was nothing to submit
  std::string command;  // what was run
  ShardStates states;
};

// Throws std::runtime_error when there is no sbatch or it refuses.
Submitted submit_sweep(const SlurmJob& job, const SweepSpec& spec, const PointList& list);

std::string submitted_text(const SlurmJob& job, const Submitted& submitted);
Json submitted_json(const SlurmJob& job, const Submitted& submitted);

}  // namespace shardsim
