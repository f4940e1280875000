// What tests ask of the fake NCCL, by dlsym.
#pragma once

extern "C" {
// What all communicators find wrong when they are asked from now on (ncclResult_t); 0: nothing.
void fake_nccl_fail(int code);
// Communicators that were aborted.
int fake_nccl_aborts();
}
