// What tests ask of the fake cuBLASLt, by dlsym.
#pragma once

extern "C" {
// How often an algorithm was asked for.
int fake_blas_questions();
// Whether there is no handle to be had, as by a driver that is too old.
void fake_blas_refuse(int isRefused);
// So many handles, and questions for an algorithm, fail with this status of cuBLAS from now on.
void fake_blas_fail(int status, int handles, int questions);
}
