; ModuleID = "Lion"
target triple = "x86_64-linux-gnu"
target datalayout = ""

define internal void @"lion_9693de897bd9_x86_64_v3.0.host.body"(i64 %".1", ptr noalias %".2", ptr noalias %".3", ptr noalias %".4", ptr noalias %".5") "denormal-fp-math"="dynamic,dynamic" noinline nounwind optnone
{
entry:
  %".7" = alloca i1
  store i1 0, i1* %".7"
  %".9" = icmp sgt i64 %".1", 1
  br i1 %".9", label %"entry.if", label %"entry.endif"
entry.if:
  %".11" = mul i64 %".1", 1
  %".12" = getelementptr inbounds double, ptr %".3", i64 %".11"
  %".13" = mul i64 %".1", 4
  %".14" = getelementptr inbounds double, ptr %".3", i64 %".13"
  %".15" = mul i64 %".1", 5
  %".16" = getelementptr inbounds double, ptr %".3", i64 %".15"
  %".17" = mul i64 %".1", 2
  %".18" = getelementptr inbounds double, ptr %".3", i64 %".17"
  %".19" = mul i64 %".1", 0
  %".20" = getelementptr inbounds double, ptr %".3", i64 %".19"
  %".21" = mul i64 %".1", 3
  %".22" = getelementptr inbounds double, ptr %".3", i64 %".21"
  %".23" = call i64 @"lion_9693de897bd9_x86_64_v3.0.host.body.is_even"(ptr %".2", i64 %".1")
  %".24" = call i64 @"lion_9693de897bd9_x86_64_v3.0.host.body.is_even"(ptr %".12", i64 %".1")
  %".25" = call i64 @"lion_9693de897bd9_x86_64_v3.0.host.body.is_even"(ptr %".14", i64 %".1")
  %".26" = call i64 @"lion_9693de897bd9_x86_64_v3.0.host.body.is_even"(ptr %".16", i64 %".1")
  %".27" = call i64 @"lion_9693de897bd9_x86_64_v3.0.host.body.is_even"(ptr %".18", i64 %".1")
  %".28" = call i64 @"lion_9693de897bd9_x86_64_v3.0.host.body.is_even"(ptr %".20", i64 %".1")
  %".29" = call i64 @"lion_9693de897bd9_x86_64_v3.0.host.body.is_even"(ptr %".22", i64 %".1")
  %".30" = or i64 %".23", %".24"
  %".31" = or i64 %".30", %".25"
  %".32" = or i64 %".31", %".26"
  %".33" = or i64 %".32", %".27"
  %".34" = or i64 %".33", %".28"
  %".35" = or i64 %".34", %".29"
  %".36" = icmp eq i64 %".35", 0
  store i1 %".36", i1* %".7"
  br label %"entry.endif"
entry.endif:
  %".39" = load i1, i1* %".7"
  %".40" = select  i1 %".39", i64 1, i64 %".1"
  br label %"head"
head:
  %".42" = phi  i64 [0, %"entry.endif"], [%".199", %"body"]
  %".43" = icmp slt i64 %".42", %".40"
  br i1 %".43", label %"body", label %"after"
body:
  %".45" = sub i64 %".42", 1
  %".46" = getelementptr inbounds i64, ptr %".2", i64 %".42"
  %".47" = load i64, ptr %".46"
  %".48" = add i64 %".47", 1
  %".49" = icmp eq i64 %".42", 0
  %".50" = select  i1 %".49", i64 %".42", i64 %".45"
  %".51" = zext i1 %".49" to i64
  %".52" = getelementptr inbounds i64, ptr %".2", i64 %".50"
  %".53" = load i64, ptr %".52"
  %".54" = xor i64 %".53", %".48"
  %".55" = or i64 %".51", %".54"
  %".56" = getelementptr inbounds i64, ptr %".2", i64 %".42"
  %".57" = load i64, ptr %".56"
  %".58" = add i64 %".57", 1
  %".59" = mul i64 %".1", 1
  %".60" = getelementptr inbounds double, ptr %".3", i64 %".59"
  %".61" = getelementptr inbounds double, ptr %".60", i64 %".42"
  %".62" = load double, ptr %".61"
  %".63" = fptrunc double %".62" to float
  %".64" = call double @"llvm.fabs.f64"(double %".62")
  %".65" = fcmp olt double %".64", 0x380ffffff0000000
  %".66" = bitcast float %".63" to i32
  %".67" = and i32 %".66", 2147483648
  %".68" = select  i1 %".65", i32 %".67", i32 %".66"
  %".69" = bitcast i32 %".68" to float
  %".70" = fsub double 0x3ff0000000000000, %".62"
  %".71" = mul i64 %".1", 4
  %".72" = getelementptr inbounds double, ptr %".3", i64 %".71"
  %".73" = getelementptr inbounds double, ptr %".72", i64 %".42"
  %".74" = load double, ptr %".73"
  %".75" = fptrunc double %".74" to float
  %".76" = call double @"llvm.fabs.f64"(double %".74")
  %".77" = fcmp olt double %".76", 0x380ffffff0000000
  %".78" = bitcast float %".75" to i32
  %".79" = and i32 %".78", 2147483648
  %".80" = select  i1 %".77", i32 %".79", i32 %".78"
  %".81" = bitcast i32 %".80" to float
  %".82" = mul i64 %".1", 5
  %".83" = getelementptr inbounds double, ptr %".3", i64 %".82"
  %".84" = getelementptr inbounds double, ptr %".83", i64 %".42"
  %".85" = load double, ptr %".84"
  %".86" = fneg double %".85"
  %".87" = fptrunc double %".86" to float
  %".88" = call double @"llvm.fabs.f64"(double %".86")
  %".89" = fcmp olt double %".88", 0x380ffffff0000000
  %".90" = bitcast float %".87" to i32
  %".91" = and i32 %".90", 2147483648
  %".92" = select  i1 %".89", i32 %".91", i32 %".90"
  %".93" = bitcast i32 %".92" to float
  %".94" = fptrunc double %".85" to float
  %".95" = call double @"llvm.fabs.f64"(double %".85")
  %".96" = fcmp olt double %".95", 0x380ffffff0000000
  %".97" = bitcast float %".94" to i32
  %".98" = and i32 %".97", 2147483648
  %".99" = select  i1 %".96", i32 %".98", i32 %".97"
  %".100" = bitcast i32 %".99" to float
  %".101" = fptrunc double %".70" to float
  %".102" = call double @"llvm.fabs.f64"(double %".70")
  %".103" = fcmp olt double %".102", 0x380ffffff0000000
  %".104" = bitcast float %".101" to i32
  %".105" = and i32 %".104", 2147483648
  %".106" = select  i1 %".103", i32 %".105", i32 %".104"
  %".107" = bitcast i32 %".106" to float
  %".108" = mul i64 %".1", 2
  %".109" = getelementptr inbounds double, ptr %".3", i64 %".108"
  %".110" = getelementptr inbounds double, ptr %".109", i64 %".42"
  %".111" = load double, ptr %".110"
  %".112" = fptrunc double %".111" to float
  %".113" = call double @"llvm.fabs.f64"(double %".111")
  %".114" = fcmp olt double %".113", 0x380ffffff0000000
  %".115" = bitcast float %".112" to i32
  %".116" = and i32 %".115", 2147483648
  %".117" = select  i1 %".114", i32 %".116", i32 %".115"
  %".118" = bitcast i32 %".117" to float
  %".119" = fsub double 0x3ff0000000000000, %".111"
  %".120" = fptrunc double %".119" to float
  %".121" = call double @"llvm.fabs.f64"(double %".119")
  %".122" = fcmp olt double %".121", 0x380ffffff0000000
  %".123" = bitcast float %".120" to i32
  %".124" = and i32 %".123", 2147483648
  %".125" = select  i1 %".122", i32 %".124", i32 %".123"
  %".126" = bitcast i32 %".125" to float
  %".127" = mul i64 %".1", 0
  %".128" = getelementptr inbounds double, ptr %".3", i64 %".127"
  %".129" = getelementptr inbounds double, ptr %".128", i64 %".42"
  %".130" = load double, ptr %".129"
  %".131" = mul i64 %".1", 3
  %".132" = getelementptr inbounds double, ptr %".3", i64 %".131"
  %".133" = getelementptr inbounds double, ptr %".132", i64 %".42"
  %".134" = load double, ptr %".133"
  %".135" = fptrunc double %".134" to float
  %".136" = call double @"llvm.fabs.f64"(double %".134")
  %".137" = fcmp olt double %".136", 0x380ffffff0000000
  %".138" = bitcast float %".135" to i32
  %".139" = and i32 %".138", 2147483648
  %".140" = select  i1 %".137", i32 %".139", i32 %".138"
  %".141" = bitcast i32 %".140" to float
  %".142" = fptrunc double %".130" to float
  %".143" = call double @"llvm.fabs.f64"(double %".130")
  %".144" = fcmp olt double %".143", 0x380ffffff0000000
  %".145" = bitcast float %".142" to i32
  %".146" = and i32 %".145", 2147483648
  %".147" = select  i1 %".144", i32 %".146", i32 %".145"
  %".148" = bitcast i32 %".147" to float
  %".149" = mul i64 %".1", 0
  %".150" = add i64 %".149", %".42"
  %".151" = getelementptr inbounds double, ptr %".4", i64 %".150"
  %".152" = fpext float %".69" to double
  store double %".152", ptr %".151"
  %".154" = mul i64 %".1", 1
  %".155" = add i64 %".154", %".42"
  %".156" = getelementptr inbounds double, ptr %".4", i64 %".155"
  %".157" = fpext float %".81" to double
  store double %".157", ptr %".156"
  %".159" = mul i64 %".1", 3
  %".160" = add i64 %".159", %".42"
  %".161" = getelementptr inbounds double, ptr %".4", i64 %".160"
  %".162" = fpext float %".93" to double
  store double %".162", ptr %".161"
  %".164" = mul i64 %".1", 2
  %".165" = add i64 %".164", %".42"
  %".166" = getelementptr inbounds double, ptr %".4", i64 %".165"
  %".167" = fpext float %".100" to double
  store double %".167", ptr %".166"
  %".169" = mul i64 %".1", 4
  %".170" = add i64 %".169", %".42"
  %".171" = getelementptr inbounds double, ptr %".4", i64 %".170"
  %".172" = fpext float %".107" to double
  store double %".172", ptr %".171"
  %".174" = mul i64 %".1", 5
  %".175" = add i64 %".174", %".42"
  %".176" = getelementptr inbounds double, ptr %".4", i64 %".175"
  %".177" = fpext float %".118" to double
  store double %".177", ptr %".176"
  %".179" = mul i64 %".1", 6
  %".180" = add i64 %".179", %".42"
  %".181" = getelementptr inbounds double, ptr %".4", i64 %".180"
  %".182" = fpext float %".126" to double
  store double %".182", ptr %".181"
  %".184" = mul i64 %".1", 7
  %".185" = add i64 %".184", %".42"
  %".186" = getelementptr inbounds double, ptr %".4", i64 %".185"
  %".187" = fpext float %".141" to double
  store double %".187", ptr %".186"
  %".189" = mul i64 %".1", 8
  %".190" = add i64 %".189", %".42"
  %".191" = getelementptr inbounds double, ptr %".4", i64 %".190"
  %".192" = fpext float %".148" to double
  store double %".192", ptr %".191"
  %".194" = getelementptr inbounds i64, ptr %".2", i64 %".42"
  %".195" = load i64, ptr %".194"
  %".196" = add i64 %".195", 1
  %".197" = getelementptr inbounds i64, ptr %".2", i64 %".42"
  store i64 %".196", ptr %".197"
  %".199" = add nsw nuw i64 %".42", 1
  br label %"head"
after:
  br i1 %".39", label %"after.if", label %"after.endif"
after.if:
  %".202" = mul i64 %".1", 0
  %".203" = add i64 %".202", 0
  %".204" = getelementptr inbounds double, ptr %".4", i64 %".203"
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".204", i64 %".1")
  %".206" = mul i64 %".1", 1
  %".207" = add i64 %".206", 0
  %".208" = getelementptr inbounds double, ptr %".4", i64 %".207"
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".208", i64 %".1")
  %".210" = mul i64 %".1", 3
  %".211" = add i64 %".210", 0
  %".212" = getelementptr inbounds double, ptr %".4", i64 %".211"
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".212", i64 %".1")
  %".214" = mul i64 %".1", 2
  %".215" = add i64 %".214", 0
  %".216" = getelementptr inbounds double, ptr %".4", i64 %".215"
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".216", i64 %".1")
  %".218" = mul i64 %".1", 4
  %".219" = add i64 %".218", 0
  %".220" = getelementptr inbounds double, ptr %".4", i64 %".219"
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".220", i64 %".1")
  %".222" = mul i64 %".1", 5
  %".223" = add i64 %".222", 0
  %".224" = getelementptr inbounds double, ptr %".4", i64 %".223"
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".224", i64 %".1")
  %".226" = mul i64 %".1", 6
  %".227" = add i64 %".226", 0
  %".228" = getelementptr inbounds double, ptr %".4", i64 %".227"
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".228", i64 %".1")
  %".230" = mul i64 %".1", 7
  %".231" = add i64 %".230", 0
  %".232" = getelementptr inbounds double, ptr %".4", i64 %".231"
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".232", i64 %".1")
  %".234" = mul i64 %".1", 8
  %".235" = add i64 %".234", 0
  %".236" = getelementptr inbounds double, ptr %".4", i64 %".235"
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".236", i64 %".1")
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".2", i64 %".1")
  br label %"after.endif"
after.endif:
  ret void
}

define internal i64 @"lion_9693de897bd9_x86_64_v3.0.host.body.is_even"(ptr %".1", i64 %".2") "denormal-fp-math"="dynamic,dynamic" noinline nounwind
{
entry:
  %".4" = getelementptr inbounds i64, ptr %".1", i64 0
  %".5" = load i64, ptr %".4"
  %".6" = alloca i64
  store i64 0, i64* %".6"
  %".8" = insertelement <8 x i64> <i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef>, i64 %".5", i32 0
  %".9" = shufflevector <8 x i64> %".8", <8 x i64> %".8", <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".10" = alloca <8 x i64>
  store <8 x i64> <i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0>, <8 x i64>* %".10"
  %".12" = and i64 %".2", -8
  br label %"head"
head:
  %".14" = phi  i64 [0, %"entry"], [%".23", %"body"]
  %".15" = icmp slt i64 %".14", %".12"
  br i1 %".15", label %"body", label %"after"
body:
  %".17" = getelementptr inbounds i64, ptr %".1", i64 %".14"
  %".18" = load <8 x i64>, ptr %".17", align 8
  %".19" = load <8 x i64>, <8 x i64>* %".10"
  %".20" = xor <8 x i64> %".18", %".9"
  %".21" = or <8 x i64> %".19", %".20"
  store <8 x i64> %".21", <8 x i64>* %".10"
  %".23" = add nsw nuw i64 %".14", 8
  br label %"head"
after:
  br label %"head.1"
head.1:
  %".26" = phi  i64 [%".12", %"after"], [%".35", %"body.1"]
  %".27" = icmp slt i64 %".26", %".2"
  br i1 %".27", label %"body.1", label %"after.1"
body.1:
  %".29" = load i64, i64* %".6"
  %".30" = getelementptr inbounds i64, ptr %".1", i64 %".26"
  %".31" = load i64, ptr %".30"
  %".32" = xor i64 %".31", %".5"
  %".33" = or i64 %".29", %".32"
  store i64 %".33", i64* %".6"
  %".35" = add nsw nuw i64 %".26", 1
  br label %"head.1", !llvm.loop !1
after.1:
  %".37" = load <8 x i64>, <8 x i64>* %".10"
  %".38" = call i64 @"llvm.vector.reduce.or.v8i64"(<8 x i64> %".37")
  %".39" = load i64, i64* %".6"
  %".40" = or i64 %".38", %".39"
  ret i64 %".40"
}

declare i64 @"llvm.vector.reduce.or.v8i64"(<8 x i64> %".1")

declare double @"llvm.fabs.f64"(double %".1")

define internal void @"lion_9693de897bd9_x86_64_v3.0.host.body.fill"(ptr %".1", i64 %".2") "denormal-fp-math"="dynamic,dynamic" noinline nounwind
{
entry:
  %".4" = getelementptr inbounds i64, ptr %".1", i64 0
  %".5" = load i64, ptr %".4"
  %".6" = insertelement <8 x i64> <i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef, i64 undef>, i64 %".5", i32 0
  %".7" = shufflevector <8 x i64> %".6", <8 x i64> %".6", <8 x i32> <i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>
  %".8" = and i64 %".2", -8
  br label %"head"
head:
  %".10" = phi  i64 [0, %"entry"], [%".15", %"body"]
  %".11" = icmp slt i64 %".10", %".8"
  br i1 %".11", label %"body", label %"after"
body:
  %".13" = getelementptr inbounds i64, ptr %".1", i64 %".10"
  store <8 x i64> %".7", ptr %".13", align 8
  %".15" = add nsw nuw i64 %".10", 8
  br label %"head"
after:
  br label %"head.1"
head.1:
  %".18" = phi  i64 [%".8", %"after"], [%".23", %"body.1"]
  %".19" = icmp slt i64 %".18", %".2"
  br i1 %".19", label %"body.1", label %"after.1"
body.1:
  %".21" = getelementptr inbounds i64, ptr %".1", i64 %".18"
  store i64 %".5", ptr %".21"
  %".23" = add nsw nuw i64 %".18", 1
  br label %"head.1", !llvm.loop !2
after.1:
  ret void
}

define internal void @"lion_9693de897bd9_x86_64_v3.0.host"(ptr %".1") "denormal-fp-math"="dynamic,dynamic" noinline nounwind optnone
{
entry:
  %".3" = getelementptr inbounds ptr, ptr %".1", i64 5
  %".4" = load ptr, ptr %".3"
  %".5" = getelementptr inbounds double, ptr %".4", i64 0
  %".6" = getelementptr inbounds i64, ptr %".1", i64 0
  %".7" = load i64, ptr %".6"
  %".8" = getelementptr inbounds ptr, ptr %".1", i64 2
  %".9" = load ptr, ptr %".8"
  %".10" = getelementptr inbounds ptr, ptr %".1", i64 1
  %".11" = load ptr, ptr %".10"
  %".12" = mul i64 %".7", 9
  %".13" = getelementptr inbounds double, ptr %".5", i64 %".12"
  %".14" = getelementptr inbounds ptr, ptr %".1", i64 3
  %".15" = load ptr, ptr %".14"
  %".16" = getelementptr inbounds ptr, ptr %".1", i64 4
  %".17" = load ptr, ptr %".16"
  call void @"lion_9693de897bd9_x86_64_v3.0.host.body"(i64 %".7", ptr %".15", ptr %".17", ptr %".5", ptr %".9")
  ret void
}

define internal void @"lion_9693de897bd9_x86_64_v3.1.sweep.tensor"(ptr %".1", i64 %".2", i64 %".3", i64 %".4", ptr %".5") "denormal-fp-math"="dynamic,dynamic" noinline nounwind optnone
{
entry:
  %".7" = getelementptr inbounds ptr, ptr %".1", i64 5
  %".8" = load ptr, ptr %".7"
  %".9" = getelementptr inbounds double, ptr %".8", i64 0
  %".10" = getelementptr inbounds i64, ptr %".1", i64 0
  %".11" = load i64, ptr %".10"
  %".12" = getelementptr inbounds ptr, ptr %".1", i64 2
  %".13" = load ptr, ptr %".12"
  %".14" = getelementptr inbounds ptr, ptr %".1", i64 1
  %".15" = load ptr, ptr %".14"
  %".16" = mul i64 %".11", 9
  %".17" = getelementptr inbounds double, ptr %".9", i64 %".16"
  %".18" = getelementptr inbounds i64, ptr %".15", i64 %".2"
  %".19" = load i64, ptr %".18"
  %".20" = alloca i64
  store i64 %".19", i64* %".20"
  %".22" = getelementptr inbounds ptr, ptr %".1", i64 14
  %".23" = load ptr, ptr %".22"
  %".24" = icmp ne ptr %".23", null
  %".31" = alloca i64
  %".48" = alloca i64
  %".115" = alloca ptr
  br i1 %".24", label %"entry.if", label %"entry.endif"
entry.if:
  %".26" = getelementptr inbounds i64, ptr %".23", i64 %".2"
  %".27" = load i64, ptr %".26"
  store i64 %".27", i64* %".20"
  br label %"entry.endif"
entry.endif:
  %".30" = load i64, i64* %".20"
  store i64 0, i64* %".31"
  %".33" = getelementptr inbounds ptr, ptr %".1", i64 13
  %".34" = load ptr, ptr %".33"
  %".35" = icmp ne ptr %".34", null
  br i1 %".35", label %"entry.endif.if", label %"entry.endif.endif"
entry.endif.if:
  %".37" = getelementptr inbounds i64, ptr %".34", i64 %".2"
  %".38" = load i64, ptr %".37"
  store i64 %".38", i64* %".31"
  br label %"entry.endif.endif"
entry.endif.endif:
  %".41" = load i64, i64* %".31"
  %".42" = getelementptr inbounds ptr, ptr %".1", i64 8
  %".43" = load ptr, ptr %".42"
  %".44" = getelementptr inbounds i64, ptr %".43", i64 %".2"
  %".45" = load i64, ptr %".44"
  %".46" = icmp sgt i64 %".45", 1
  %".47" = select  i1 %".46", i64 %".45", i64 1
  store i64 -1, i64* %".48"
  %".50" = getelementptr inbounds ptr, ptr %".1", i64 12
  %".51" = load ptr, ptr %".50"
  %".52" = icmp ne ptr %".51", null
  br i1 %".52", label %"entry.endif.endif.if", label %"entry.endif.endif.endif"
entry.endif.endif.if:
  %".54" = getelementptr inbounds i64, ptr %".51", i64 %".2"
  %".55" = load i64, ptr %".54"
  store i64 %".55", i64* %".48"
  br label %"entry.endif.endif.endif"
entry.endif.endif.endif:
  %".58" = load i64, i64* %".48"
  %".59" = icmp sge i64 %".58", 0
  %".60" = mul i64 %".58", %".47"
  %".61" = select  i1 %".59", i64 %".60", i64 %".19"
  %".62" = mul i64 %".11", 0
  %".63" = add i64 %".62", %".2"
  %".64" = getelementptr inbounds double, ptr %".9", i64 %".63"
  %".65" = load double, ptr %".64"
  %".66" = fptrunc double %".65" to float
  %".67" = mul i64 %".11", 1
  %".68" = add i64 %".67", %".2"
  %".69" = getelementptr inbounds double, ptr %".9", i64 %".68"
  %".70" = load double, ptr %".69"
  %".71" = fptrunc double %".70" to float
  %".72" = mul i64 %".11", 2
  %".73" = add i64 %".72", %".2"
  %".74" = getelementptr inbounds double, ptr %".9", i64 %".73"
  %".75" = load double, ptr %".74"
  %".76" = fptrunc double %".75" to float
  %".77" = mul i64 %".11", 3
  %".78" = add i64 %".77", %".2"
  %".79" = getelementptr inbounds double, ptr %".9", i64 %".78"
  %".80" = load double, ptr %".79"
  %".81" = fptrunc double %".80" to float
  %".82" = mul i64 %".11", 4
  %".83" = add i64 %".82", %".2"
  %".84" = getelementptr inbounds double, ptr %".9", i64 %".83"
  %".85" = load double, ptr %".84"
  %".86" = fptrunc double %".85" to float
  %".87" = mul i64 %".11", 5
  %".88" = add i64 %".87", %".2"
  %".89" = getelementptr inbounds double, ptr %".9", i64 %".88"
  %".90" = load double, ptr %".89"
  %".91" = fptrunc double %".90" to float
  %".92" = mul i64 %".11", 6
  %".93" = add i64 %".92", %".2"
  %".94" = getelementptr inbounds double, ptr %".9", i64 %".93"
  %".95" = load double, ptr %".94"
  %".96" = fptrunc double %".95" to float
  %".97" = mul i64 %".11", 7
  %".98" = add i64 %".97", %".2"
  %".99" = getelementptr inbounds double, ptr %".9", i64 %".98"
  %".100" = load double, ptr %".99"
  %".101" = fptrunc double %".100" to float
  %".102" = mul i64 %".11", 8
  %".103" = add i64 %".102", %".2"
  %".104" = getelementptr inbounds double, ptr %".9", i64 %".103"
  %".105" = load double, ptr %".104"
  %".106" = fptrunc double %".105" to float
  br i1 %".59", label %"entry.endif.endif.endif.if", label %"entry.endif.endif.endif.else"
entry.endif.endif.endif.if:
  %".108" = udiv i64 %".3", %".47"
  %".109" = udiv i64 %".4", %".47"
  %".110" = icmp sgt i64 %".47", 16
  %".111" = select  i1 %".110", i64 %".47", i64 16
  %".112" = udiv i64 1024, %".111"
  %".113" = icmp sle i64 %".47", 1024
  %".114" = select  i1 %".113", i64 %".112", i64 0
  store ptr null, ptr %".115"
  %".117" = getelementptr inbounds ptr, ptr %".1", i64 11
  %".118" = load ptr, ptr %".117"
  %".119" = icmp ne ptr %".118", null
  br i1 %".119", label %"entry.endif.endif.endif.if.if", label %"entry.endif.endif.endif.if.endif"
entry.endif.endif.endif.else:
  %".140" = mul i64 %".2", 3
  %".141" = add i64 %".140", 0
  %".142" = getelementptr inbounds ptr, ptr %".13", i64 %".141"
  %".143" = load ptr, ptr %".142"
  %".144" = mul i64 %".2", 3
  %".145" = add i64 %".144", 1
  %".146" = getelementptr inbounds ptr, ptr %".13", i64 %".145"
  %".147" = load ptr, ptr %".146"
  %".148" = mul i64 %".2", 3
  %".149" = add i64 %".148", 2
  %".150" = getelementptr inbounds ptr, ptr %".13", i64 %".149"
  %".151" = load ptr, ptr %".150"
  call void @"lion_9693de897bd9_x86_64_v3.1.sweep.tensor.elements"(i64 0, i64 1, i64 %".3", i64 %".4", i64 0, ptr null, ptr %".143", ptr %".147", ptr %".151", float %".66", float %".71", float %".76", float %".81", float %".86", float %".91", float %".96", float %".101", float %".106")
  br label %"entry.endif.endif.endif.endif"
entry.endif.endif.endif.endif:
  ret void
entry.endif.endif.endif.if.if:
  %".121" = getelementptr inbounds ptr, ptr %".118", i64 %".2"
  %".122" = load ptr, ptr %".121"
  store ptr %".122", ptr %".115"
  br label %"entry.endif.endif.endif.if.endif"
entry.endif.endif.endif.if.endif:
  %".125" = load ptr, ptr %".115"
  %".126" = mul i64 %".2", 3
  %".127" = add i64 %".126", 0
  %".128" = getelementptr inbounds ptr, ptr %".13", i64 %".127"
  %".129" = load ptr, ptr %".128"
  %".130" = mul i64 %".2", 3
  %".131" = add i64 %".130", 1
  %".132" = getelementptr inbounds ptr, ptr %".13", i64 %".131"
  %".133" = load ptr, ptr %".132"
  %".134" = mul i64 %".2", 3
  %".135" = add i64 %".134", 2
  %".136" = getelementptr inbounds ptr, ptr %".13", i64 %".135"
  %".137" = load ptr, ptr %".136"
  call void @"lion_9693de897bd9_x86_64_v3.1.sweep.tensor.elements"(i64 %".108", i64 %".109", i64 0, i64 %".47", i64 %".114", ptr %".125", ptr %".129", ptr %".133", ptr %".137", float %".66", float %".71", float %".76", float %".81", float %".86", float %".91", float %".96", float %".101", float %".106")
  br label %"entry.endif.endif.endif.endif"
}

define internal void @"lion_9693de897bd9_x86_64_v3.1.sweep.tensor.elements"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", ptr %".6", ptr noalias %".7", ptr noalias %".8", ptr noalias %".9", float %".10", float %".11", float %".12", float %".13", float %".14", float %".15", float %".16", float %".17", float %".18") "denormal-fp-math"="dynamic,dynamic" noinline nounwind
{
entry:
  %".20" = sub i64 %".4", %".3"
  %".21" = icmp eq i64 %".5", 0
  %".22" = sub i64 %".1", %".5"
  %".32" = alloca i64
  %".72" = alloca i64
  br label %"head"
head:
  %".24" = phi  i64 [%".22", %"entry"], [%".203", %"body.endif.endif"]
  %".25" = icmp slt i64 %".24", %".2"
  br i1 %".25", label %"body", label %"after"
body:
  %".27" = add i64 %".24", %".5"
  %".28" = xor i1 %".21", -1
  %".29" = icmp slt i64 %".27", %".2"
  %".30" = and i1 %".28", %".29"
  br i1 %".30", label %"body.if", label %"body.endif"
after:
  ret void
body.if:
  store i64 %".27", i64* %".32"
  %".34" = icmp ne ptr %".6", null
  br i1 %".34", label %"body.if.if", label %"body.if.endif"
body.endif:
  %".70" = icmp sge i64 %".24", %".1"
  br i1 %".70", label %"body.endif.if", label %"body.endif.endif"
body.if.if:
  %".36" = getelementptr inbounds i64, ptr %".6", i64 %".27"
  %".37" = load i64, ptr %".36"
  store i64 %".37", i64* %".32"
  br label %"body.if.endif"
body.if.endif:
  %".40" = load i64, i64* %".32"
  %".41" = mul i64 %".40", %".20"
  %".42" = getelementptr inbounds float, ptr %".7", i64 %".41"
  %".43" = mul i64 %".27", %".20"
  %".44" = getelementptr inbounds float, ptr %".8", i64 %".43"
  %".45" = mul i64 %".40", %".20"
  %".46" = getelementptr inbounds float, ptr %".9", i64 %".45"
  %".47" = mul i64 %".20", 4
  br label %"head.1"
head.1:
  %".49" = phi  i64 [0, %"body.if.endif"], [%".58", %"body.1"]
  %".50" = icmp slt i64 %".49", %".47"
  br i1 %".50", label %"body.1", label %"after.1"
body.1:
  %".52" = getelementptr inbounds i8, ptr %".42", i64 %".49"
  call void @"llvm.prefetch.p0"(ptr %".52", i32 0, i32 2, i32 1)
  %".54" = getelementptr inbounds i8, ptr %".44", i64 %".49"
  call void @"llvm.prefetch.p0"(ptr %".54", i32 0, i32 2, i32 1)
  %".56" = getelementptr inbounds i8, ptr %".46", i64 %".49"
  call void @"llvm.prefetch.p0"(ptr %".56", i32 0, i32 2, i32 1)
  %".58" = add nsw nuw i64 %".49", 64
  br label %"head.1"
after.1:
  %".60" = sub i64 %".47", 1
  %".61" = getelementptr i8, ptr %".42", i64 %".60"
  call void @"llvm.prefetch.p0"(ptr %".61", i32 0, i32 2, i32 1)
  %".63" = sub i64 %".47", 1
  %".64" = getelementptr i8, ptr %".44", i64 %".63"
  call void @"llvm.prefetch.p0"(ptr %".64", i32 0, i32 2, i32 1)
  %".66" = sub i64 %".47", 1
  %".67" = getelementptr i8, ptr %".46", i64 %".66"
  call void @"llvm.prefetch.p0"(ptr %".67", i32 0, i32 2, i32 1)
  br label %"body.endif"
body.endif.if:
  store i64 %".24", i64* %".72"
  %".74" = icmp ne ptr %".6", null
  br i1 %".74", label %"body.endif.if.if", label %"body.endif.if.endif"
body.endif.endif:
  %".203" = add nsw i64 %".24", 1
  br label %"head"
body.endif.if.if:
  %".76" = getelementptr inbounds i64, ptr %".6", i64 %".24"
  %".77" = load i64, ptr %".76"
  store i64 %".77", i64* %".72"
  br label %"body.endif.if.endif"
body.endif.if.endif:
  %".80" = load i64, i64* %".72"
  %".81" = mul i64 %".80", %".20"
  %".82" = getelementptr inbounds float, ptr %".7", i64 %".81"
  %".83" = mul i64 %".24", %".20"
  %".84" = getelementptr inbounds float, ptr %".8", i64 %".83"
  %".85" = mul i64 %".80", %".20"
  %".86" = getelementptr inbounds float, ptr %".9", i64 %".85"
  %".87" = sub i64 %".4", %".3"
  %".88" = and i64 %".87", -16
  %".89" = add i64 %".3", %".88"
  br label %"head.2"
head.2:
  %".91" = phi  i64 [%".3", %"body.endif.if.endif"], [%".152", %"after.3"]
  %".92" = icmp slt i64 %".91", %".89"
  br i1 %".92", label %"body.2", label %"after.2"
body.2:
  br i1 %".21", label %"body.2.if", label %"body.2.endif"
after.2:
  %".154" = sub i64 %".4", %".89"
  br label %"head.4"
body.2.if:
  %".95" = getelementptr float, ptr %".82", i64 %".91"
  %".96" = getelementptr i8, ptr %".95", i64 1024
  call void @"llvm.prefetch.p0"(ptr %".96", i32 0, i32 2, i32 1)
  %".98" = getelementptr float, ptr %".84", i64 %".91"
  %".99" = getelementptr i8, ptr %".98", i64 1024
  call void @"llvm.prefetch.p0"(ptr %".99", i32 0, i32 2, i32 1)
  %".101" = getelementptr float, ptr %".86", i64 %".91"
  %".102" = getelementptr i8, ptr %".101", i64 1024
  call void @"llvm.prefetch.p0"(ptr %".102", i32 0, i32 2, i32 1)
  br label %"body.2.endif"
body.2.endif:
  br label %"head.3"
head.3:
  %".106" = phi  i64 [0, %"body.2.endif"], [%".150", %"body.3"]
  %".107" = icmp slt i64 %".106", 16
  br i1 %".107", label %"body.3", label %"after.3"
body.3:
  %".109" = add nsw nuw i64 %".91", %".106"
  %".110" = getelementptr inbounds float, ptr %".86", i64 %".109"
  %".111" = load float, ptr %".110", align 1
  %".112" = fmul float %".10", %".111"
  %".113" = getelementptr inbounds float, ptr %".84", i64 %".109"
  %".114" = load float, ptr %".113", align 1
  %".115" = fmul float %".11", %".114"
  %".116" = fcmp ogt float %".115", %".12"
  %".117" = select  i1 %".116", float %".12", float %".115"
  %".118" = fcmp olt float %".117", %".13"
  %".119" = select  i1 %".118", float %".13", float %".117"
  %".120" = fmul float %".14", %".119"
  %".121" = fadd float %".112", %".120"
  %".122" = fmul float %".15", %".111"
  %".123" = fmul float %".16", %".119"
  %".124" = fadd float %".122", %".123"
  %".125" = getelementptr inbounds float, ptr %".82", i64 %".109"
  %".126" = load float, ptr %".125", align 1
  %".127" = bitcast float %".121" to i32
  %".128" = and i32 %".127", -2147483648
  %".129" = or i32 %".128", 1065353216
  %".130" = bitcast i32 %".129" to float
  %".131" = bitcast float %".130" to i32
  %".132" = and i32 %".131", 2139095040
  %".133" = icmp eq i32 %".132", 0
  %".134" = bitcast float %".130" to i32
  %".135" = and i32 %".134", 2147483648
  %".136" = select  i1 %".133", i32 %".135", i32 %".134"
  %".137" = bitcast i32 %".136" to float
  %".138" = call float @"llvm.fabs.f32"(float %".121")
  %".139" = fcmp ogt float %".138",              0x0
  %".140" = fadd float %".121",              0x0
  %".141" = select  i1 %".139", float %".137", float %".140"
  %".142" = fmul float %".17", %".126"
  %".143" = fadd float %".141", %".142"
  %".144" = fmul float %".18", %".143"
  %".145" = fsub float %".126", %".144"
  %".146" = getelementptr inbounds float, ptr %".82", i64 %".109"
  store float %".145", ptr %".146", align 1
  %".148" = getelementptr inbounds float, ptr %".86", i64 %".109"
  store float %".124", ptr %".148", align 1
  %".150" = add nsw nuw i64 %".106", 1
  br label %"head.3", !llvm.loop !4
after.3:
  %".152" = add nsw nuw i64 %".91", 16
  br label %"head.2"
head.4:
  %".156" = phi  i64 [0, %"after.2"], [%".200", %"body.4"]
  %".157" = icmp slt i64 %".156", %".154"
  br i1 %".157", label %"body.4", label %"after.4"
body.4:
  %".159" = add nsw nuw i64 %".89", %".156"
  %".160" = getelementptr inbounds float, ptr %".86", i64 %".159"
  %".161" = load float, ptr %".160", align 1
  %".162" = fmul float %".10", %".161"
  %".163" = getelementptr inbounds float, ptr %".84", i64 %".159"
  %".164" = load float, ptr %".163", align 1
  %".165" = fmul float %".11", %".164"
  %".166" = fcmp ogt float %".165", %".12"
  %".167" = select  i1 %".166", float %".12", float %".165"
  %".168" = fcmp olt float %".167", %".13"
  %".169" = select  i1 %".168", float %".13", float %".167"
  %".170" = fmul float %".14", %".169"
  %".171" = fadd float %".162", %".170"
  %".172" = fmul float %".15", %".161"
  %".173" = fmul float %".16", %".169"
  %".174" = fadd float %".172", %".173"
  %".175" = getelementptr inbounds float, ptr %".82", i64 %".159"
  %".176" = load float, ptr %".175", align 1
  %".177" = bitcast float %".171" to i32
  %".178" = and i32 %".177", -2147483648
  %".179" = or i32 %".178", 1065353216
  %".180" = bitcast i32 %".179" to float
  %".181" = bitcast float %".180" to i32
  %".182" = and i32 %".181", 2139095040
  %".183" = icmp eq i32 %".182", 0
  %".184" = bitcast float %".180" to i32
  %".185" = and i32 %".184", 2147483648
  %".186" = select  i1 %".183", i32 %".185", i32 %".184"
  %".187" = bitcast i32 %".186" to float
  %".188" = call float @"llvm.fabs.f32"(float %".171")
  %".189" = fcmp ogt float %".188",              0x0
  %".190" = fadd float %".171",              0x0
  %".191" = select  i1 %".189", float %".187", float %".190"
  %".192" = fmul float %".17", %".176"
  %".193" = fadd float %".191", %".192"
  %".194" = fmul float %".18", %".193"
  %".195" = fsub float %".176", %".194"
  %".196" = getelementptr inbounds float, ptr %".82", i64 %".159"
  store float %".195", ptr %".196", align 1
  %".198" = getelementptr inbounds float, ptr %".86", i64 %".159"
  store float %".174", ptr %".198", align 1
  %".200" = add nsw nuw i64 %".156", 1
  br label %"head.4", !llvm.loop !5
after.4:
  br label %"body.endif.endif"
}

declare void @"llvm.prefetch.p0"(ptr %".1", i32 %".2", i32 %".3", i32 %".4")

declare float @"llvm.fabs.f32"(float %".1")

define internal void @"lion_9693de897bd9_x86_64_v3.1.sweep"(ptr %".1", i64 %".2", i64 %".3") "denormal-fp-math"="dynamic,dynamic" noinline nounwind optnone
{
entry:
  %".5" = alloca i32
  %".6" = alloca i32
  store i32 40896, i32* %".6"
  call void @"llvm.x86.sse.stmxcsr"(i32* %".5")
  call void @"llvm.x86.sse.ldmxcsr"(i32* %".6")
  %".10" = getelementptr inbounds ptr, ptr %".1", i64 5
  %".11" = load ptr, ptr %".10"
  %".12" = getelementptr inbounds double, ptr %".11", i64 0
  %".13" = getelementptr inbounds i64, ptr %".1", i64 0
  %".14" = load i64, ptr %".13"
  %".15" = getelementptr inbounds ptr, ptr %".1", i64 2
  %".16" = load ptr, ptr %".15"
  %".17" = getelementptr inbounds ptr, ptr %".1", i64 1
  %".18" = load ptr, ptr %".17"
  %".19" = mul i64 %".14", 9
  %".20" = getelementptr inbounds double, ptr %".12", i64 %".19"
  %".21" = call i64 @"lion_9693de897bd9_x86_64_v3.elements"(ptr %".1")
  %".22" = alloca i64
  store i64 0, i64* %".22"
  %".24" = mul i64 %".21", %".2"
  %".25" = sdiv i64 %".24", %".3"
  %".26" = add i64 %".2", 1
  %".27" = mul i64 %".21", %".26"
  %".28" = sdiv i64 %".27", %".3"
  %".29" = alloca i64
  store i64 0, i64* %".29"
  %".37" = alloca i64
  %".48" = alloca i64
  %".65" = alloca i64
  %".90" = alloca i64
  %".92" = alloca i64
  br label %"head"
head:
  %".32" = phi  i64 [0, %"entry"], [%".131", %"body.endif.endif.endif.endif"]
  %".33" = icmp slt i64 %".32", %".14"
  br i1 %".33", label %"body", label %"after"
body:
  %".35" = getelementptr inbounds i64, ptr %".18", i64 %".32"
  %".36" = load i64, ptr %".35"
  store i64 %".36", i64* %".37"
  %".39" = getelementptr inbounds ptr, ptr %".1", i64 14
  %".40" = load ptr, ptr %".39"
  %".41" = icmp ne ptr %".40", null
  br i1 %".41", label %"body.if", label %"body.endif"
after:
  call void @"llvm.x86.sse.ldmxcsr"(i32* %".5")
  ret void
body.if:
  %".43" = getelementptr inbounds i64, ptr %".40", i64 %".32"
  %".44" = load i64, ptr %".43"
  store i64 %".44", i64* %".37"
  br label %"body.endif"
body.endif:
  %".47" = load i64, i64* %".37"
  store i64 0, i64* %".48"
  %".50" = getelementptr inbounds ptr, ptr %".1", i64 13
  %".51" = load ptr, ptr %".50"
  %".52" = icmp ne ptr %".51", null
  br i1 %".52", label %"body.endif.if", label %"body.endif.endif"
body.endif.if:
  %".54" = getelementptr inbounds i64, ptr %".51", i64 %".32"
  %".55" = load i64, ptr %".54"
  store i64 %".55", i64* %".48"
  br label %"body.endif.endif"
body.endif.endif:
  %".58" = load i64, i64* %".48"
  %".59" = getelementptr inbounds ptr, ptr %".1", i64 8
  %".60" = load ptr, ptr %".59"
  %".61" = getelementptr inbounds i64, ptr %".60", i64 %".32"
  %".62" = load i64, ptr %".61"
  %".63" = icmp sgt i64 %".62", 1
  %".64" = select  i1 %".63", i64 %".62", i64 1
  store i64 -1, i64* %".65"
  %".67" = getelementptr inbounds ptr, ptr %".1", i64 12
  %".68" = load ptr, ptr %".67"
  %".69" = icmp ne ptr %".68", null
  br i1 %".69", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.endif.if:
  %".71" = getelementptr inbounds i64, ptr %".68", i64 %".32"
  %".72" = load i64, ptr %".71"
  store i64 %".72", i64* %".65"
  br label %"body.endif.endif.endif"
body.endif.endif.endif:
  %".75" = load i64, i64* %".65"
  %".76" = icmp sge i64 %".75", 0
  %".77" = mul i64 %".75", %".64"
  %".78" = select  i1 %".76", i64 %".77", i64 %".36"
  %".79" = load i64, i64* %".29"
  %".80" = add i64 %".79", 0
  store i64 %".80", i64* %".29"
  %".82" = getelementptr inbounds double, ptr %".20", i64 %".79"
  %".83" = load i64, i64* %".22"
  %".84" = add i64 %".83", %".78"
  store i64 %".84", i64* %".22"
  %".86" = icmp slt i64 %".25", %".84"
  %".87" = icmp slt i64 %".83", %".28"
  %".88" = and i1 %".86", %".87"
  br i1 %".88", label %"body.endif.endif.endif.if", label %"body.endif.endif.endif.endif"
body.endif.endif.endif.if:
  store i64 0, i64* %".90"
  store i64 %".78", i64* %".92"
  %".94" = icmp sgt i64 %".25", %".83"
  %".95" = icmp slt i64 %".28", %".84"
  %".96" = or i1 %".94", %".95"
  br i1 %".96", label %"body.endif.endif.endif.if.if", label %"body.endif.endif.endif.if.endif"
body.endif.endif.endif.endif:
  %".131" = add nsw nuw i64 %".32", 1
  br label %"head"
body.endif.endif.endif.if.if:
  %".98" = select  i1 %".76", i64 %".64", i64 128
  %".99" = sub i64 %".25", %".83"
  %".100" = icmp slt i64 %".99", 0
  %".101" = icmp slt i64 %".99", %".78"
  %".102" = select  i1 %".101", i64 %".99", i64 %".78"
  %".103" = select  i1 %".100", i64 0, i64 %".102"
  %".104" = sub i64 %".98", 1
  %".105" = add i64 %".103", %".104"
  %".106" = udiv i64 %".105", %".98"
  %".107" = mul i64 %".106", %".98"
  %".108" = icmp slt i64 %".107", %".78"
  %".109" = select  i1 %".108", i64 %".107", i64 %".78"
  store i64 %".109", i64* %".90"
  %".111" = sub i64 %".28", %".83"
  %".112" = icmp slt i64 %".111", 0
  %".113" = icmp slt i64 %".111", %".78"
  %".114" = select  i1 %".113", i64 %".111", i64 %".78"
  %".115" = select  i1 %".112", i64 0, i64 %".114"
  %".116" = sub i64 %".98", 1
  %".117" = add i64 %".115", %".116"
  %".118" = udiv i64 %".117", %".98"
  %".119" = mul i64 %".118", %".98"
  %".120" = icmp slt i64 %".119", %".78"
  %".121" = select  i1 %".120", i64 %".119", i64 %".78"
  store i64 %".121", i64* %".92"
  br label %"body.endif.endif.endif.if.endif"
body.endif.endif.endif.if.endif:
  %".124" = load i64, i64* %".90"
  %".125" = load i64, i64* %".92"
  %".126" = icmp slt i64 %".124", %".125"
  br i1 %".126", label %"body.endif.endif.endif.if.endif.if", label %"body.endif.endif.endif.if.endif.endif"
body.endif.endif.endif.if.endif.if:
  call void @"lion_9693de897bd9_x86_64_v3.1.sweep.tensor"(ptr %".1", i64 %".32", i64 %".124", i64 %".125", ptr %".82")
  br label %"body.endif.endif.endif.if.endif.endif"
body.endif.endif.endif.if.endif.endif:
  br label %"body.endif.endif.endif.endif"
}

declare void @"llvm.x86.sse.stmxcsr"(ptr %".1")

declare void @"llvm.x86.sse.ldmxcsr"(ptr %".1")

define internal i64 @"lion_9693de897bd9_x86_64_v3.elements"(ptr %".1") "denormal-fp-math"="dynamic,dynamic" noinline nounwind
{
entry:
  %".3" = getelementptr inbounds ptr, ptr %".1", i64 5
  %".4" = load ptr, ptr %".3"
  %".5" = getelementptr inbounds double, ptr %".4", i64 0
  %".6" = getelementptr inbounds i64, ptr %".1", i64 0
  %".7" = load i64, ptr %".6"
  %".8" = getelementptr inbounds ptr, ptr %".1", i64 2
  %".9" = load ptr, ptr %".8"
  %".10" = getelementptr inbounds ptr, ptr %".1", i64 1
  %".11" = load ptr, ptr %".10"
  %".12" = mul i64 %".7", 9
  %".13" = getelementptr inbounds double, ptr %".5", i64 %".12"
  %".14" = alloca i64
  store i64 0, i64* %".14"
  %".23" = alloca i64
  %".34" = alloca i64
  %".51" = alloca i64
  br label %"head"
head:
  %".17" = phi  i64 [0, %"entry"], [%".67", %"body.endif.endif.endif"]
  %".18" = icmp slt i64 %".17", %".7"
  br i1 %".18", label %"body", label %"after"
body:
  %".20" = load i64, i64* %".14"
  %".21" = getelementptr inbounds i64, ptr %".11", i64 %".17"
  %".22" = load i64, ptr %".21"
  store i64 %".22", i64* %".23"
  %".25" = getelementptr inbounds ptr, ptr %".1", i64 14
  %".26" = load ptr, ptr %".25"
  %".27" = icmp ne ptr %".26", null
  br i1 %".27", label %"body.if", label %"body.endif"
after:
  %".69" = load i64, i64* %".14"
  ret i64 %".69"
body.if:
  %".29" = getelementptr inbounds i64, ptr %".26", i64 %".17"
  %".30" = load i64, ptr %".29"
  store i64 %".30", i64* %".23"
  br label %"body.endif"
body.endif:
  %".33" = load i64, i64* %".23"
  store i64 0, i64* %".34"
  %".36" = getelementptr inbounds ptr, ptr %".1", i64 13
  %".37" = load ptr, ptr %".36"
  %".38" = icmp ne ptr %".37", null
  br i1 %".38", label %"body.endif.if", label %"body.endif.endif"
body.endif.if:
  %".40" = getelementptr inbounds i64, ptr %".37", i64 %".17"
  %".41" = load i64, ptr %".40"
  store i64 %".41", i64* %".34"
  br label %"body.endif.endif"
body.endif.endif:
  %".44" = load i64, i64* %".34"
  %".45" = getelementptr inbounds ptr, ptr %".1", i64 8
  %".46" = load ptr, ptr %".45"
  %".47" = getelementptr inbounds i64, ptr %".46", i64 %".17"
  %".48" = load i64, ptr %".47"
  %".49" = icmp sgt i64 %".48", 1
  %".50" = select  i1 %".49", i64 %".48", i64 1
  store i64 -1, i64* %".51"
  %".53" = getelementptr inbounds ptr, ptr %".1", i64 12
  %".54" = load ptr, ptr %".53"
  %".55" = icmp ne ptr %".54", null
  br i1 %".55", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.endif.if:
  %".57" = getelementptr inbounds i64, ptr %".54", i64 %".17"
  %".58" = load i64, ptr %".57"
  store i64 %".58", i64* %".51"
  br label %"body.endif.endif.endif"
body.endif.endif.endif:
  %".61" = load i64, i64* %".51"
  %".62" = icmp sge i64 %".61", 0
  %".63" = mul i64 %".61", %".50"
  %".64" = select  i1 %".62", i64 %".63", i64 %".22"
  %".65" = add i64 %".20", %".64"
  store i64 %".65", i64* %".14"
  %".67" = add nsw nuw i64 %".17", 1
  br label %"head", !llvm.loop !6
}

define hidden i64 @"lion_9693de897bd9_x86_64_v3_workspace"(ptr %".1") "denormal-fp-math"="dynamic,dynamic" noinline nounwind optnone
{
entry:
  %".3" = getelementptr inbounds ptr, ptr %".1", i64 5
  %".4" = load ptr, ptr %".3"
  %".5" = getelementptr inbounds double, ptr %".4", i64 0
  %".6" = getelementptr inbounds i64, ptr %".1", i64 0
  %".7" = load i64, ptr %".6"
  %".8" = getelementptr inbounds ptr, ptr %".1", i64 2
  %".9" = load ptr, ptr %".8"
  %".10" = getelementptr inbounds ptr, ptr %".1", i64 1
  %".11" = load ptr, ptr %".10"
  %".12" = mul i64 %".7", 9
  %".13" = getelementptr inbounds double, ptr %".5", i64 %".12"
  %".14" = mul i64 %".7", 9
  %".15" = add i64 0, %".14"
  %".16" = alloca i64
  store i64 %".15", i64* %".16"
  %".24" = alloca i64
  %".35" = alloca i64
  %".52" = alloca i64
  br label %"head"
head:
  %".19" = phi  i64 [0, %"entry"], [%".69", %"body.endif.endif.endif"]
  %".20" = icmp slt i64 %".19", %".7"
  br i1 %".20", label %"body", label %"after"
body:
  %".22" = getelementptr inbounds i64, ptr %".11", i64 %".19"
  %".23" = load i64, ptr %".22"
  store i64 %".23", i64* %".24"
  %".26" = getelementptr inbounds ptr, ptr %".1", i64 14
  %".27" = load ptr, ptr %".26"
  %".28" = icmp ne ptr %".27", null
  br i1 %".28", label %"body.if", label %"body.endif"
after:
  %".71" = load i64, i64* %".16"
  ret i64 %".71"
body.if:
  %".30" = getelementptr inbounds i64, ptr %".27", i64 %".19"
  %".31" = load i64, ptr %".30"
  store i64 %".31", i64* %".24"
  br label %"body.endif"
body.endif:
  %".34" = load i64, i64* %".24"
  store i64 0, i64* %".35"
  %".37" = getelementptr inbounds ptr, ptr %".1", i64 13
  %".38" = load ptr, ptr %".37"
  %".39" = icmp ne ptr %".38", null
  br i1 %".39", label %"body.endif.if", label %"body.endif.endif"
body.endif.if:
  %".41" = getelementptr inbounds i64, ptr %".38", i64 %".19"
  %".42" = load i64, ptr %".41"
  store i64 %".42", i64* %".35"
  br label %"body.endif.endif"
body.endif.endif:
  %".45" = load i64, i64* %".35"
  %".46" = getelementptr inbounds ptr, ptr %".1", i64 8
  %".47" = load ptr, ptr %".46"
  %".48" = getelementptr inbounds i64, ptr %".47", i64 %".19"
  %".49" = load i64, ptr %".48"
  %".50" = icmp sgt i64 %".49", 1
  %".51" = select  i1 %".50", i64 %".49", i64 1
  store i64 -1, i64* %".52"
  %".54" = getelementptr inbounds ptr, ptr %".1", i64 12
  %".55" = load ptr, ptr %".54"
  %".56" = icmp ne ptr %".55", null
  br i1 %".56", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.endif.if:
  %".58" = getelementptr inbounds i64, ptr %".55", i64 %".19"
  %".59" = load i64, ptr %".58"
  store i64 %".59", i64* %".52"
  br label %"body.endif.endif.endif"
body.endif.endif.endif:
  %".62" = load i64, i64* %".52"
  %".63" = icmp sge i64 %".62", 0
  %".64" = mul i64 %".62", %".51"
  %".65" = select  i1 %".63", i64 %".64", i64 %".23"
  %".66" = load i64, i64* %".16"
  %".67" = add i64 %".66", 0
  store i64 %".67", i64* %".16"
  %".69" = add nsw nuw i64 %".19", 1
  br label %"head"
}

define hidden void @"lion_9693de897bd9_x86_64_v3"(ptr %".1") "denormal-fp-math"="dynamic,dynamic" noinline nounwind optnone
{
entry:
  %".3" = alloca i32
  %".4" = alloca i32
  store i32 8064, i32* %".4"
  call void @"llvm.x86.sse.stmxcsr"(i32* %".3")
  call void @"llvm.x86.sse.ldmxcsr"(i32* %".4")
  %".8" = getelementptr inbounds ptr, ptr %".1", i64 5
  %".9" = load ptr, ptr %".8"
  %".10" = getelementptr inbounds double, ptr %".9", i64 0
  %".11" = getelementptr inbounds i64, ptr %".1", i64 0
  %".12" = load i64, ptr %".11"
  %".13" = getelementptr inbounds ptr, ptr %".1", i64 2
  %".14" = load ptr, ptr %".13"
  %".15" = getelementptr inbounds ptr, ptr %".1", i64 1
  %".16" = load ptr, ptr %".15"
  %".17" = mul i64 %".12", 9
  %".18" = getelementptr inbounds double, ptr %".10", i64 %".17"
  %".19" = getelementptr inbounds ptr, ptr %".1", i64 6
  %".20" = load ptr, ptr %".19"
  %".21" = getelementptr inbounds ptr, ptr %".1", i64 7
  %".22" = load ptr, ptr %".21"
  %".23" = call i64 @"lion_9693de897bd9_x86_64_v3.elements"(ptr %".1")
  call void @"lion_9693de897bd9_x86_64_v3.0.host"(ptr %".1")
  %".25" = icmp eq ptr %".20", null
  br i1 %".25", label %"entry.if", label %"entry.else"
entry.if:
  call void @"lion_9693de897bd9_x86_64_v3.1.sweep"(ptr %".1", i64 0, i64 1)
  br label %"entry.endif"
entry.else:
  call void %".20"(ptr %".22", void (ptr, i64, i64)* @"lion_9693de897bd9_x86_64_v3.1.sweep", ptr %".1", i64 %".23")
  br label %"entry.endif"
entry.endif:
  call void @"llvm.x86.sse.ldmxcsr"(i32* %".3")
  ret void
}

!0 = !{ !"llvm.loop.vectorize.width", i32 1 }
!1 = distinct !{ !1, !0 }
!2 = distinct !{ !2, !0 }
!3 = !{ !"llvm.loop.vectorize.width", i32 16 }
!4 = distinct !{ !4, !3 }
!5 = distinct !{ !5, !0 }
!6 = distinct !{ !6, !0 }
