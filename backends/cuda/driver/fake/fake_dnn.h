// What tests ask of the fake cuDNN, by dlsym.
#pragma once

extern "C" {
// How often algorithms were asked for.
int fake_dnn_questions();
// Whether graphs of convolutions are refused, so that the older functions are asked.
void fake_dnn_refuse_graphs(int isRefused);
}

// Counts one more.
void fake_dnn_asked();
