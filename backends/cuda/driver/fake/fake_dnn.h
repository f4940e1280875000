// What tests ask of the fake cuDNN, by dlsym.
#pragma once

extern "C" {
// How often algorithms were asked for.
int fake_dnn_questions();
// Whether graphs of convolutions are refused, so that the older functions are asked.
void fake_dnn_refuse_graphs(int isRefused);
// So many handles fail with this status of cuDNN from now on.
void fake_dnn_fail(int status, int handles);
}

// Counts one more.
void fake_dnn_asked();
