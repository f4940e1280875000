# find_package(isthmus): headers for programs in C and C++ that drive a PJRT plugin, and ours.
#
#   target_link_libraries(program PRIVATE isthmus::client)
#   target_link_libraries(program PRIVATE model.o isthmus::model)   # what isthmus-compile wrote
#
# ISTHMUS_LIBRARY is the plugin, which such programs load when they run. This file is in the wheel:
# -Disthmus_DIR=$(python -m isthmus cmake).
get_filename_component(_isthmus_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(ISTHMUS_LIBRARY "${_isthmus_root}/libisthmus.so")
if(NOT TARGET isthmus::client)
  add_library(isthmus::client INTERFACE IMPORTED)
  set_target_properties(isthmus::client PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_isthmus_root}/include"
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
endif()
if(NOT TARGET isthmus::model)
  add_library(isthmus::model SHARED IMPORTED)
  set_target_properties(isthmus::model PROPERTIES
    IMPORTED_LOCATION "${_isthmus_root}/libisthmus_model.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_isthmus_root}/include")
endif()
unset(_isthmus_root)
