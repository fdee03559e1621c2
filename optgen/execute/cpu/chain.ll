; Several kernels in one native call. The counts of all tensors are in one array; each kernel gets those of its tensors
; in an array of its own, which is written back after it has run.
;
; "step", the count that all tensors share, is the largest of theirs after this step.

%chain = type {
  i64,    ; 0 number of links
  ptr,    ; 1 the links
  i64,    ; 2 number of tensors
  ptr     ; 3 their update counts
}
%link = type {
  ptr,    ; 0 the kernel
  ptr,    ; 1 its optgen_step, which begins with the number of its tensors; its field 3 is where its counts are
  ptr,    ; 2 which tensors these are
  ptr     ; 3 where it reads "step", once for each of its tensors; null: nowhere
}

define void @optgen_chain_run(ptr %chain) {
entry:
  %links = load i64, ptr %chain
  %links.p = getelementptr %chain, ptr %chain, i64 0, i32 1
  %first = load ptr, ptr %links.p
  %tensors.p = getelementptr %chain, ptr %chain, i64 0, i32 2
  %tensors = load i64, ptr %tensors.p
  %counts.p = getelementptr %chain, ptr %chain, i64 0, i32 3
  %counts = load ptr, ptr %counts.p
  br label %largest

largest:
  %i = phi i64 [ 0, %entry ], [ %i1, %look ]
  %so.far = phi i64 [ 0, %entry ], [ %larger, %look ]
  %looked = icmp eq i64 %i, %tensors
  br i1 %looked, label %gather, label %look

look:
  %count.p = getelementptr i64, ptr %counts, i64 %i
  %count = load i64, ptr %count.p
  %larger = call i64 @llvm.smax.i64(i64 %so.far, i64 %count)
  %i1 = add i64 %i, 1
  br label %largest

gather:
  %j = phi i64 [ 0, %largest ], [ %j1, %gather.one ]
  %step = phi i64 [ %so.far, %largest ], [ %later, %gather.one ]
  %gathered = icmp eq i64 %j, %links
  br i1 %gathered, label %run, label %gather.one

gather.one:
  %link.g = getelementptr %link, ptr %first, i64 %j
  %later = call i64 @gather(ptr %link.g, ptr %counts, i64 %step)
  %j1 = add i64 %j, 1
  br label %gather

run:
  %k = phi i64 [ 0, %gather ], [ %k1, %run.one ]
  %ran = icmp eq i64 %k, %links
  br i1 %ran, label %done, label %run.one

run.one:
  %link.r = getelementptr %link, ptr %first, i64 %k
  call void @run(ptr %link.r, ptr %counts, i64 %step)
  %k1 = add i64 %k, 1
  br label %run

done:
  ret void
}

; Copy the counts of the tensors of a link; the largest of %step and their next counts.
define internal i64 @gather(ptr %link, ptr %counts, i64 %step) {
entry:
  %step.p = getelementptr %link, ptr %link, i64 0, i32 1
  %optgen.step = load ptr, ptr %step.p
  %n = load i64, ptr %optgen.step
  %own.p = getelementptr i64, ptr %optgen.step, i64 3
  %own = load ptr, ptr %own.p
  %order.p = getelementptr %link, ptr %link, i64 0, i32 2
  %order = load ptr, ptr %order.p
  br label %next

next:
  %i = phi i64 [ 0, %entry ], [ %i1, %copy ]
  %so.far = phi i64 [ %step, %entry ], [ %larger, %copy ]
  %copied = icmp eq i64 %i, %n
  br i1 %copied, label %done, label %copy

copy:
  %which.p = getelementptr i64, ptr %order, i64 %i
  %which = load i64, ptr %which.p
  %from = getelementptr i64, ptr %counts, i64 %which
  %count = load i64, ptr %from
  %to = getelementptr i64, ptr %own, i64 %i
  store i64 %count, ptr %to
  %following = add i64 %count, 1
  %larger = call i64 @llvm.smax.i64(i64 %so.far, i64 %following)
  %i1 = add i64 %i, 1
  br label %next

done:
  ret i64 %so.far
}

; Run the kernel of a link, and copy its counts back.
define internal void @run(ptr %link, ptr %counts, i64 %step) {
entry:
  %kernel = load ptr, ptr %link
  %step.p = getelementptr %link, ptr %link, i64 0, i32 1
  %optgen.step = load ptr, ptr %step.p
  %n = load i64, ptr %optgen.step
  %own.p = getelementptr i64, ptr %optgen.step, i64 3
  %own = load ptr, ptr %own.p
  %order.p = getelementptr %link, ptr %link, i64 0, i32 2
  %order = load ptr, ptr %order.p
  %shared.p = getelementptr %link, ptr %link, i64 0, i32 3
  %shared = load ptr, ptr %shared.p
  %number = sitofp i64 %step to double
  %unread = icmp eq ptr %shared, null
  br i1 %unread, label %call, label %fill

fill:
  %i = phi i64 [ 0, %entry ], [ %i1, %set ]
  %filled = icmp eq i64 %i, %n
  br i1 %filled, label %call, label %set

set:
  %number.p = getelementptr double, ptr %shared, i64 %i
  store double %number, ptr %number.p
  %i1 = add i64 %i, 1
  br label %fill

call:
  call void %kernel(ptr %optgen.step)
  br label %next

next:
  %k = phi i64 [ 0, %call ], [ %k1, %copy ]
  %copied = icmp eq i64 %k, %n
  br i1 %copied, label %done, label %copy

copy:
  %from = getelementptr i64, ptr %own, i64 %k
  %count = load i64, ptr %from
  %which.p = getelementptr i64, ptr %order, i64 %k
  %which = load i64, ptr %which.p
  %to = getelementptr i64, ptr %counts, i64 %which
  store i64 %count, ptr %to
  %k1 = add i64 %k, 1
  br label %next

done:
  ret void
}

declare i64 @llvm.smax.i64(i64, i64)
