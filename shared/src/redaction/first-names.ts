/** Frequent first names, lower case: they tell a name from other words where nothing announces it for sure. */
// prettier-ignore
export const FIRST_NAMES: ReadonlySet<string> = new Set(
  `james robert john michael david william richard joseph thomas charles christopher daniel matthew anthony mark donald steven steve paul
  andrew joshua kenneth kevin brian george timothy ronald edward jason jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin
  scott brandon benjamin samuel gregory alexander patrick frank raymond jack dennis jerry tyler aaron jose adam nathan henry peter kyle
  mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy betty sandra margaret ashley kimberly emily donna
  michelle carol amanda melissa deborah stephanie rebecca sharon laura cynthia dorothy amy kathleen angela shirley emma brenda pamela nicole
  anna samantha katherine christine helen debra rachel carolyn janet maria olivia heather diane julie joyce victoria ruth lauren kelly
  christina joan evelyn judith megan alice sophia sofia isabella mia charlotte amelia priya raj wei mei mohammed muhammad ahmed fatima ali
  omar carlos juan luis miguel lucia elena carmen lily caroline oliver harry noah liam lucas leo
  hans peter klaus jürgen wolfgang günter dieter werner horst manfred uwe bernd stefan andreas markus matthias martin christian sebastian
  florian tobias philipp felix lukas jonas paul max maximilian leon finn ben elias karl heinz friedrich otto ludwig johannes georg rainer
  ralf frank jörg torsten thorsten sven dirk olaf jan tim nils lars ulrich helmut gerhard walter kurt rolf
  sabine petra monika claudia susanne birgit andrea martina heike ute gabriele angelika renate ursula ingrid christa helga karin brigitte
  elke anja kerstin katrin kathrin silke nicole melanie stefanie sandra tanja julia katharina anne annegret friederike lena leonie hannah
  emma mia lea sophie marie johanna charlotte clara luisa greta ida frieda elif ayşe mehmet mustafa emre fatma yusuf zeynep piotr anna
  tomasz agnieszka katarzyna krzysztof magdalena`.split(/\s+/),
);
