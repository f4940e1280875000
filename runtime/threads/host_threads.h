// Threads for what may block for long or needs much stack: as many as there are such tasks at once.
#pragma once

#include <memory>

#include "runtime/threads/task_queue.h"

namespace isthmus {

// Runs the task soon on a thread that has nothing else to do, which is started if there is none.
// User code may wait for other programs, whoever launches them, and so must not hold up the queue
// of a device. TaskQueue::isQueueThread() is true there. False, and the task is left with the
// caller, if no thread can be started.
bool runOnHostThread(std::unique_ptr<Task>& task);

// The same on a thread with a stack of kCompileStackBytes.
bool runOnCompileThread(std::unique_ptr<Task>& task);

}  // namespace isthmus
