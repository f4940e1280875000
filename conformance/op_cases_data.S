/* The cases as they stand in the file that the build names. */
  .section .rodata
  .global isthmus_op_cases_begin
  .hidden isthmus_op_cases_begin
isthmus_op_cases_begin:
  .incbin ISTHMUS_OP_CASES_FILE
  .global isthmus_op_cases_end
  .hidden isthmus_op_cases_end
isthmus_op_cases_end:
  .byte 0
  .section .note.GNU-stack,"",@progbits
