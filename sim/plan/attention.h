// The table of attention kernels: what scores cost beyond the products.
//
//   flash    one kernel; scores never leave the chip (Dao et al. 2022, arXiv 2205.14135), and those
//            above the diagonal of causal attention are not computed
//   scores   kernels of their own for both products, softmax and dropout, as in Korthikanti et al.
//            2022 (arXiv 2205.05198, section 4.1 and figure 3): each reads and writes all scores
//
// Traffic of `scores`, in arrays of B*N*T*S scores that are read or written:
//
//   forward   Q K' writes; softmax reads, writes; dropout reads, writes, and a mask; P V reads
//   dQ        dO V' writes; dropout reads, writes, and the mask; softmax reads its gradient and P,
//             writes; dS K reads
//   dK, dV    dS' Q reads; P' dO reads
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace shardsim {

struct ScoreTraffic {
  double products = 0;   // arrays, by kernels that multiply
  double pointwise = 0;  // arrays, by kernels that do not
  double masks = 0;      // arrays of one byte, by kernels that do not
};

struct AttentionRow {
  std::string_view name;
  std::string_view help;
  bool skips_masked = true;  // half of the scores are not computed when it is causal
  ScoreTraffic forward = {};
  std::array<ScoreTraffic, 3> backward = {};  // dQ, dK, dV

  double share(bool causal) const { return causal && skips_masked ? 0.5 : 1.0; }
};

std::span<const AttentionRow> attention_rows();             // the default first
const AttentionRow* find_attention(std::string_view name);  // nullptr when there is none

}  // namespace shardsim
