// The PJRT C API: the binary interface through which a framework drives a plugin.
//
// These are our own declarations of a public interface (API 0.112; enumerations up to 0.116). One
// header per object is in pjrt_c_api/. Structures are compared with an independent description by
// pjrt/pjrt_c_api_test.py.
#pragma once

#include "isthmus/pjrt_c_api/base.h"
#include "isthmus/pjrt_c_api/buffer.h"
#include "isthmus/pjrt_c_api/client.h"
#include "isthmus/pjrt_c_api/device.h"
#include "isthmus/pjrt_c_api/executable.h"
#include "isthmus/pjrt_c_api/extensions.h"
#include "isthmus/pjrt_c_api/table.h"
#include "isthmus/pjrt_c_api/topology.h"
#include "isthmus/pjrt_c_api/transfer.h"
#include "isthmus/pjrt_c_api/types.h"
