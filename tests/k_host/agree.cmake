# SPDX-License-Identifier: BSL-1.0
# Runs two programs and compares what they print.
execute_process(COMMAND ${OURS} OUTPUT_VARIABLE ours RESULT_VARIABLE ours_failed)
execute_process(COMMAND ${THEIRS} OUTPUT_VARIABLE theirs RESULT_VARIABLE theirs_failed)
if(ours_failed OR theirs_failed OR NOT ours STREQUAL theirs)
  message(FATAL_ERROR "ours (${ours_failed}):\n${ours}\ntheirs (${theirs_failed}):\n${theirs}")
endif()
