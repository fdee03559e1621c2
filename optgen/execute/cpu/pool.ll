; The thread pool of the kernels. Workers are threads that stay in @optgen_pool_worker; whoever has work calls
; @optgen_pool_run. A job is cut into parts; each part is run by whoever claims it first, everybody starting with their
; own, so that a thread that is late (asleep, preempted) costs nothing: the others take its parts.
;
; {pause} is replaced by the spin-wait hint of the target, {futex} by the number of that system call.
;
; A claim word holds the generation of the job that its part belongs to, or 0 once claimed. A worker that looks at an
; old generation therefore never claims, and one that has claimed keeps the job alive until it has counted down `pending`.

%pool = type {
  i32, [15 x i32],        ;  0 generation of the newest job; workers sleep on it
  i32, [15 x i32],        ;  2 pending: parts not finished
  i32, [15 x i32],        ;  4 sleepers
  i32, [15 x i32],        ;  6 busy: 1 while a job runs
  i32,                    ;  8 threads: workers and the caller; 1: no workers
  i32,                    ;  9 stop: workers return
  ptr,                    ; 10 task
  ptr,                    ; 11 step
  i32,                    ; 12 parts of each thread in the newest job
  i32,                    ; 13 spins before a waiting thread sleeps
  i64,                    ; 14 fewer elements than this stay on the calling thread
  i64,                    ; 15 fewer elements than this wake a sleeping worker only if the last job is just over
  i64,                    ; 16 from this many elements on a thread has several parts
  i64,                    ; 17 parts of the newest job
  i64,                    ; 18 when the last job ended, in nanoseconds
  i32,                    ; 19 waiting: 1 while the caller sleeps until `pending` is 0
  i32,                    ; 20 -
  [4096 x i32]            ; 21 claims
}

declare i64 @syscall(i64, ...)
declare i32 @clock_gettime(i32, ptr)
{declare_pause}

define void @optgen_pool_worker(ptr %pool, i32 %id, i32 %start) {
entry:
  %generation.p = getelementptr %pool, ptr %pool, i64 0, i32 0
  %sleepers.p = getelementptr %pool, ptr %pool, i64 0, i32 4
  %stop.p = getelementptr %pool, ptr %pool, i64 0, i32 9
  %limit.p = getelementptr %pool, ptr %pool, i64 0, i32 13
  br label %idle

idle:
  %seen = phi i32 [ %start, %entry ], [ %seen, %sleep ], [ %new, %job ]
  %limit = load i32, ptr %limit.p
  br label %spin

spin:
  %n = phi i32 [ 0, %idle ], [ %n1, %again ]
  %new = load atomic i32, ptr %generation.p seq_cst, align 4
  %changed = icmp ne i32 %new, %seen
  br i1 %changed, label %awake, label %again

again:
  {pause}
  %n1 = add i32 %n, 1
  %more = icmp ult i32 %n1, %limit
  br i1 %more, label %spin, label %sleep

sleep:
  ; FUTEX_WAIT_PRIVATE returns at once when the generation is no longer the one seen.
  atomicrmw add ptr %sleepers.p, i32 1 seq_cst
  call i64 (i64, ...) @syscall(i64 {futex}, ptr %generation.p, i64 128, i32 %seen, ptr null, ptr null, i64 0)
  atomicrmw sub ptr %sleepers.p, i32 1 seq_cst
  br label %idle

awake:
  %stop = load atomic i32, ptr %stop.p seq_cst, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %done, label %job

job:
  call void @work(ptr %pool, i32 %id, i32 %new)
  br label %idle

done:
  ret void
}

; Claim and run parts of job %generation: first those of thread %id, then everybody's.
define internal void @work(ptr %pool, i32 %id, i32 %generation) {
entry:
  %parts.p = getelementptr %pool, ptr %pool, i64 0, i32 17
  %each.p = getelementptr %pool, ptr %pool, i64 0, i32 12
  %pending.p = getelementptr %pool, ptr %pool, i64 0, i32 2
  %task.p = getelementptr %pool, ptr %pool, i64 0, i32 10
  %step.p = getelementptr %pool, ptr %pool, i64 0, i32 11
  %waiting.p = getelementptr %pool, ptr %pool, i64 0, i32 19
  ; The job's own number of parts: how many threads there are may change while it runs.
  %parts64 = load atomic i64, ptr %parts.p monotonic, align 8
  %parts = trunc i64 %parts64 to i32
  %each = load atomic i32, ptr %each.p monotonic, align 4
  %first = mul i32 %id, %each
  %empty = icmp eq i32 %parts, 0
  br i1 %empty, label %done, label %next

next:
  %k = phi i32 [ 0, %entry ], [ %k1, %continue ]
  %shifted = add i32 %first, %k
  %part = urem i32 %shifted, %parts
  %claim.p = getelementptr %pool, ptr %pool, i64 0, i32 21, i32 %part
  %claim = load atomic i32, ptr %claim.p monotonic, align 4
  %open = icmp eq i32 %claim, %generation
  br i1 %open, label %try, label %continue

try:
  %pair = cmpxchg ptr %claim.p, i32 %generation, i32 0 seq_cst seq_cst
  %ours = extractvalue { i32, i1 } %pair, 1
  br i1 %ours, label %run, label %continue

run:
  ; Read only now: before the claim they may already have been another job's.
  %task = load atomic ptr, ptr %task.p monotonic, align 8
  %step = load atomic ptr, ptr %step.p monotonic, align 8
  %part64 = zext i32 %part to i64
  call void %task(ptr %step, i64 %part64, i64 %parts64)
  %before = atomicrmw sub ptr %pending.p, i32 1 seq_cst
  %last = icmp eq i32 %before, 1
  br i1 %last, label %finish, label %continue

finish:
  %waiting = load atomic i32, ptr %waiting.p seq_cst, align 4
  %wanted = icmp ne i32 %waiting, 0
  br i1 %wanted, label %tell, label %continue

tell:
  call i64 (i64, ...) @syscall(i64 {futex}, ptr %pending.p, i64 129, i32 1, ptr null, ptr null, i64 0)
  br label %continue

continue:
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, %parts
  br i1 %more, label %next, label %done

done:
  ret void
}

; parallel_for of the kernels: task(step, part, parts) for every part, on all threads where that pays.
define void @optgen_pool_run(ptr %pool, ptr %task, ptr %step, i64 %elements) {
entry:
  %generation.p = getelementptr %pool, ptr %pool, i64 0, i32 0
  %pending.p = getelementptr %pool, ptr %pool, i64 0, i32 2
  %sleepers.p = getelementptr %pool, ptr %pool, i64 0, i32 4
  %busy.p = getelementptr %pool, ptr %pool, i64 0, i32 6
  %threads.p = getelementptr %pool, ptr %pool, i64 0, i32 8
  %task.p = getelementptr %pool, ptr %pool, i64 0, i32 10
  %step.p = getelementptr %pool, ptr %pool, i64 0, i32 11
  %each.p = getelementptr %pool, ptr %pool, i64 0, i32 12
  %limit.p = getelementptr %pool, ptr %pool, i64 0, i32 13
  %small.p = getelementptr %pool, ptr %pool, i64 0, i32 14
  %wake.p = getelementptr %pool, ptr %pool, i64 0, i32 15
  %large.p = getelementptr %pool, ptr %pool, i64 0, i32 16
  %parts.p = getelementptr %pool, ptr %pool, i64 0, i32 17
  %last.p = getelementptr %pool, ptr %pool, i64 0, i32 18
  %waiting.p = getelementptr %pool, ptr %pool, i64 0, i32 19
  %threads = load atomic i32, ptr %threads.p monotonic, align 4
  %single = icmp ult i32 %threads, 2
  %small = load i64, ptr %small.p
  %tiny = icmp slt i64 %elements, %small
  %stay = or i1 %single, %tiny
  br i1 %stay, label %alone, label %look

look:
  %sleepers = load atomic i32, ptr %sleepers.p seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  %wake = load i64, ptr %wake.p
  %modest = icmp slt i64 %elements, %wake
  %doubtful = and i1 %asleep, %modest
  br i1 %doubtful, label %recent, label %enter

recent:
  ; Steps that follow each other at once are worth a wake-up, which then serves them all; a lone one is not.
  %start = call i64 @now()
  %last = load atomic i64, ptr %last.p monotonic, align 8
  %gap = sub i64 %start, %last
  %lone = icmp sgt i64 %gap, 100000
  br i1 %lone, label %alone, label %enter

enter:
  %pair = cmpxchg ptr %busy.p, i32 0, i32 1 seq_cst seq_cst
  %ours = extractvalue { i32, i1 } %pair, 1
  br i1 %ours, label %prepare, label %alone

alone:
  call void %task(ptr %step, i64 0, i64 1)
  br i1 %stay, label %done, label %note

note:
  %end = call i64 @now()
  store atomic i64 %end, ptr %last.p monotonic, align 8
  br label %done

done:
  ret void

prepare:
  %old = load atomic i32, ptr %generation.p monotonic, align 4
  %plus = add i32 %old, 1
  %wrapped = icmp eq i32 %plus, 0
  %generation = select i1 %wrapped, i32 1, i32 %plus
  %large = load i64, ptr %large.p
  %many = icmp sge i64 %elements, %large
  %each = select i1 %many, i32 8, i32 1
  %parts = mul i32 %threads, %each
  store atomic ptr %task, ptr %task.p monotonic, align 8
  store atomic ptr %step, ptr %step.p monotonic, align 8
  store atomic i32 %each, ptr %each.p monotonic, align 4
  %parts64 = zext i32 %parts to i64
  store atomic i64 %parts64, ptr %parts.p monotonic, align 8
  store atomic i32 %parts, ptr %pending.p monotonic, align 4
  br label %open

open:
  %k = phi i32 [ 0, %prepare ], [ %k1, %open ]
  %claim.p = getelementptr %pool, ptr %pool, i64 0, i32 21, i32 %k
  store atomic i32 %generation, ptr %claim.p release, align 4
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, %parts
  br i1 %more, label %open, label %publish

publish:
  store atomic i32 %generation, ptr %generation.p seq_cst, align 4
  %waiting = load atomic i32, ptr %sleepers.p seq_cst, align 4
  %any = icmp ne i32 %waiting, 0
  br i1 %any, label %rouse, label %share

rouse:
  ; FUTEX_WAKE_PRIVATE, everybody
  call i64 (i64, ...) @syscall(i64 {futex}, ptr %generation.p, i64 129, i32 2147483647, ptr null, ptr null, i64 0)
  br label %share

share:
  call void @work(ptr %pool, i32 0, i32 %generation)
  %limit = load i32, ptr %limit.p
  br label %wait

wait:
  %n = phi i32 [ 0, %share ], [ %n1, %pausing ], [ 0, %nap ]
  %pending = load atomic i32, ptr %pending.p seq_cst, align 4
  %finished = icmp eq i32 %pending, 0
  br i1 %finished, label %leave.pool, label %hold

hold:
  %n1 = add i32 %n, 1
  %patient = icmp ult i32 %n1, %limit
  br i1 %patient, label %pausing, label %doze

pausing:
  {pause}
  br label %wait

doze:
  ; More threads than cores: sleep, and let the one that holds the last part run. (sched_yield often returns at once.)
  store atomic i32 1, ptr %waiting.p seq_cst, align 4
  %left = load atomic i32, ptr %pending.p seq_cst, align 4
  %none = icmp eq i32 %left, 0
  br i1 %none, label %leave.pool, label %nap

nap:
  call i64 (i64, ...) @syscall(i64 {futex}, ptr %pending.p, i64 128, i32 %left, ptr null, ptr null, i64 0)
  br label %wait

leave.pool:
  store atomic i32 0, ptr %waiting.p monotonic, align 4
  store atomic i32 0, ptr %busy.p seq_cst, align 4
  br label %note
}

define internal i64 @now() {
  %time = alloca [2 x i64]
  call i32 @clock_gettime(i32 1, ptr %time) ; CLOCK_MONOTONIC
  %seconds = load i64, ptr %time
  %rest.p = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.p
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %rest
  ret i64 %now
}

; Wake every worker without a job, so that it sees `stop`.
define void @optgen_pool_rouse(ptr %pool) {
  %generation.p = getelementptr %pool, ptr %pool, i64 0, i32 0
  atomicrmw add ptr %generation.p, i32 1 seq_cst
  call i64 (i64, ...) @syscall(i64 {futex}, ptr %generation.p, i64 129, i32 2147483647, ptr null, ptr null, i64 0)
  ret void
}

; The spin-wait hint %n times, to measure how long one takes.
define void @optgen_pool_spin(i32 %n) {
entry:
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %k1, %loop ]
  {pause}
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
