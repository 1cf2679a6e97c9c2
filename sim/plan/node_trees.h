// An all-reduce as NCCL's trees do it: a GPU's NIC belongs to one rail, and every rail has its
// share of the array. Inside the nodes the share goes along a chain to the rail's NIC, from NIC to
// NIC up a binary tree, and all the way back, piece by piece; two trees with half of the share each
// keep every NIC busy (Sanders, Speck, Träff 2009; NCCL 2.4, "double binary trees").
//
//   2 nodes of 4, rail 1    up    4 -> 3 -> 2 -> 1 in each node (positions 0 3 2 1), 1 of node 1 ->
//                                 1 of node 0
//                           down  the same way back
//
// Every edge sends one piece after the other, each as soon as it has come; pieces that pass one
// port at once share it. Columns of the algorithm table (plan/algorithms.h).
#pragma once

#include <string>
#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

std::string node_trees_suit(const CollectiveAsk& ask, const GroupNet& net);  // why_not
CollectivePlan plan_node_trees(const CollectiveAsk& ask, const GroupNet& net,
                               const std::vector<int>& fold);
ClosedForm form_node_trees(const CollectiveAsk& ask, const GroupNet& net);
double sends_node_trees(const CollectiveAsk& ask, const GroupNet& net);
std::vector<int> fold_node_trees(const CollectiveAsk& ask, const GroupNet& net);
int pieces_node_trees(const CollectiveAsk& ask, const GroupNet& net);

}  // namespace shardsim
