// The threads of OpenBLAS, which jaxlib's LAPACK calls.
#pragma once

namespace isthmus::cpu {

// While there is one, OpenBLAS computes on the threads of its callers, in the whole process.
// Callers at the same time otherwise wait busily for its few threads, and keep them from a CPU: a
// call that takes a millisecond then takes a second. Any number may exist, on any threads. Nothing
// changes where LAPACK is not OpenBLAS's.
class OneBlasThread {
 public:
  explicit OneBlasThread(bool isWanted);
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  const bool isWanted_;
};

}  // namespace isthmus::cpu
