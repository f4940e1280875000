// Threads for programs that call user code: as many as there are such programs at once.
#pragma once

#include <memory>

#include "runtime/task_queue.h"

namespace isthmus {

// Runs the task soon on a thread that has nothing else to do, which is started if there is none.
// User code may wait for other programs, whoever launches them, and so must not hold up the queue
// of a device. TaskQueue::isQueueThread() is true there.
void runOnHostThread(std::unique_ptr<Task> task);

}  // namespace isthmus
