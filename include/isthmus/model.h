/* Programs compiled ahead of time, run without a compiler: libisthmus_model.so. C99 and C++.
 *
 * `isthmus-compile MODEL -o model.o --header model.h` writes an object file that holds the program
 * and a header with a typed function that runs it; this is what that function calls. The machine
 * code in a model is trusted as code of the program that links it is.
 *
 * Functions that can fail return null, or what went wrong: a text that stays valid until the same
 * thread calls one of these functions again. */
#ifndef ISTHMUS_MODEL_H_
#define ISTHMUS_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A loaded program. Immutable; used from any number of threads at once. */
typedef struct isthmus_model isthmus_model;

/* Loads what isthmus-compile or Executable.serialize() made. `image` is only read during the call.
 * Fails for bytes that are damaged, of another version, or for another CPU. */
const char* isthmus_model_load(const void* image, size_t bytes, isthmus_model** model);

/* No run of it may be going on. Null is allowed. */
void isthmus_model_free(isthmus_model* model);

/* A dense array in row-major order. */
typedef struct {
  int32_t type; /* PJRT_Buffer_Type */
  size_t bytes;
  size_t rank;
  const int64_t* dims; /* as long as the model */
} isthmus_model_array;

/* How many there are, tuples flattened. */
size_t isthmus_model_num_arguments(const isthmus_model* model);
size_t isthmus_model_num_results(const isthmus_model* model);
/* All zero for an index beyond the last one. */
isthmus_model_array isthmus_model_argument(const isthmus_model* model, size_t index);
isthmus_model_array isthmus_model_result(const isthmus_model* model, size_t index);

/* Runs the program on the calling thread, helped by the process's pool of ISTHMUS_NUM_THREADS, and
 * returns when the results are written. Arguments and results are aligned to their elements and
 * owned by the caller; results overlap nothing. Results that are aligned to 64 bytes are written in
 * place, others are copied; one that is not wanted may be null. */
const char* isthmus_model_run(const isthmus_model* model, const void* const* arguments,
                              void* const* results);

/* Loads `image` into `*model` if that is null, once however many threads call, and runs it. What
 * generated headers call. */
const char* isthmus_model_run_image(isthmus_model** model, const void* image, size_t bytes,
                                    const void* const* arguments, void* const* results);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ISTHMUS_MODEL_H_ */
