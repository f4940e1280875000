// Runs a program that isthmus-compile compiled ahead of time: no compiler in this process.
#include <stdio.h>

#include "add.h"

int main(void) {
  const float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40};
  float sum[4];
  const char* problem = add_run(x, y, sum);
  if (problem != NULL) return fprintf(stderr, "%s\n", problem), 1;
  for (int i = 0; i < 4; ++i) printf("%g ", sum[i]);
  printf("\n");
  return 0;
}
