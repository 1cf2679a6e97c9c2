// FLOPs of a step, whole machine, nothing padded: einsums that contract, and attention.
// Conventions:
//
//   model      forward and twice as much backward (Chowdhery et al. 2022, appendix B); the head's
//              product with the vocabulary where it is run, the lookup of the embedding is none
//   executed   what the devices do: model, what is recomputed, and what several of them do alike
//              because a mesh axis cuts nothing of it ("hardware FLOPs" of Korthikanti et al. 2022)
//   scores     of causal attention: model FLOPs count half of them, or all as that paper's equation
//              3, 72 B L s h^2 (1 + s/(6h) + V/(12hL)); executed are those that the kernel
//              computes, or all as well, of which flash leaves out half: that figure may exceed the
//              peak
#pragma once

#include "base/units.h"
#include "plan/prepare.h"

namespace shardsim {

struct StepFlops {
  Flops model, model_all_scores;
  Flops head;  // the part of `model` that is the head's
  Flops executed, executed_all_scores;
};
StepFlops flops_of(const Prepared& run);

}  // namespace shardsim
