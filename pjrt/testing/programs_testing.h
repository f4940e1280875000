// A few programs that are functions, for tests of the C API without a compiler.
//
// A program is chosen by a word in its text:
//   stablehlo.add   (f32[4], f32[4]) -> f32[4]: the sum; cheap, so it runs on the calling thread
//   accumulate      (f32[4], f32[4]) -> f32[4]: the sum, written into argument 0, which is donated
//   may_donate      (f32[4]) -> f32[4]: a copy; argument 0 may be donated
//   negate          (s32[2,3]) -> (s32[2,3], f32[]): the negation, and 1.5; runs on another thread
//   host            (f32[4]) -> f32[4]: a copy; the result is in pinned_host memory
//   fail            (f32[4]) -> f32[4]: kInternal "the program failed"
//   wait            (f32[4]) -> f32[4]: a copy, once `releaseWaiters` has been called
//   no_outputs      (f32[4]) -> ()
// Anything else is kInvalidArgument. Serialized executables are the text of the program.
#pragma once

#include "isthmus/backend.h"

namespace isthmus::testing {

// Has the programs, and runs them on the host: what isthmus_programs_testing links.
Backend& programsBackend();

// Lets all programs of the kind "wait" finish, now and in the future.
void releaseWaiters();
// Makes them wait again.
void holdWaiters();

}  // namespace isthmus::testing
