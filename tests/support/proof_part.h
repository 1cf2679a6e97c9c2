// How much of the proof is run.
#pragma once

namespace shardsim::testing {

// One of so many cases: more than 1 where code is slow, as with sanitizers.
#ifdef SHARDSIM_PROOF_PART
inline constexpr int kProofPart = SHARDSIM_PROOF_PART;
#else
inline constexpr int kProofPart = 1;
#endif

}  // namespace shardsim::testing
