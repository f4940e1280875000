// What tests ask of the fake cuDNN, by dlsym.
#pragma once

extern "C" {
// How often algorithms were asked for.
int fake_dnn_questions();
}

// Counts one more.
void fake_dnn_asked();
